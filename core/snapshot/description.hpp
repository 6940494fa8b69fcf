// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The Services as one subscription received them, with reasons, for `sluicectl`. Plain data, built on the store thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/snapshot/transaction.hpp"
#include "core/store/resolve.hpp"

namespace sluice::snapshot {

// The delivery state of a service port.
enum class Progress : std::uint8_t {
  delivered,         // the backend has this version
  change_pending,    // the backend has an older version until the next sync
  addition_pending,  // the backend does not have it yet
  removal_pending,   // the backend still has it; the Service or this port was deleted
};

struct DescribedPort {
  store::ExplainedPort explained;  // with removal_pending: as it was delivered
  Progress progress = Progress::delivered;
};

// A Service without a service port in this address family.
struct NotProxied {
  model::ObjectName name;
  std::string reason;
};

struct Description {
  std::uint64_t generation = 0;           // of the delivered state
  std::shared_ptr<const NodeFacts> node;  // null: not known yet
  std::vector<DescribedPort> ports;       // sorted by key
  std::vector<NotProxied> not_proxied;    // sorted by name
};

// All calls on the store thread.
struct DescribeRequest {
  // Whether any service port of this Service may match. Called for each Service of the cluster, so it must be cheap.
  std::function<bool(const model::ObjectName&)> may_want;
  // `node` is null until the node facts are known.
  std::function<bool(const store::ExplainedPort&, const NodeFacts* node)> wants;
  // Whether to list Services that are not proxied.
  bool not_proxied = false;
  // Returns false when the client has disconnected, which cancels the request.
  std::function<bool()> wanted;
  // Called once with the result; must not block. Not called if the thread stops, the subscription ends, or wanted()
  // returns false.
  std::function<void(Description)> done;
};

}  // namespace sluice::snapshot
