// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What one feed knows of Services, with the reasons, for people. Values; made on the store thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/snapshot/transaction.hpp"
#include "core/store/resolve.hpp"

namespace sluice::snapshot {

// How far a service port has come on its way to the backend.
enum class Progress : std::uint8_t {
  given,             // the backend has it as it is described
  change_pending,    // the backend has it otherwise, until the next sync
  addition_pending,  // the backend has not got it yet
  removal_pending,   // the backend still has it; the Service has gone, or lost this port
};

struct DescribedPort {
  store::ExplainedPort is;  // with removal_pending: as the backend has it
  Progress progress = Progress::given;
};

// A Service without a service port in this family.
struct NotProxied {
  model::ObjectName name;
  std::string reason;
};

struct Description {
  std::uint64_t generation = 0;           // of what the backend has
  std::shared_ptr<const NodeFacts> node;  // null: not known yet
  std::vector<DescribedPort> ports;       // sorted by key
  std::vector<NotProxied> not_proxied;    // sorted by name
};

// All calls on the store thread.
struct DescribeRequest {
  // Whether any service port of this Service may be wanted. Called for each Service of the cluster: cheap.
  std::function<bool(const model::ObjectName&)> may_want;
  // `node` is null while nothing is known of it.
  std::function<bool(const store::ExplainedPort&, const NodeFacts* node)> wants;
  // Whether Services that are not proxied are to be listed.
  bool not_proxied = false;
  // False: the client has gone, and the rest is not worth the work.
  std::function<bool()> wanted;
  // Called once with everything, must not wait; not called when the thread stops, the feed closes, or wanted() is
  // false.
  std::function<void(Description)> done;
};

}  // namespace sluice::snapshot
