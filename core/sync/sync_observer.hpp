// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The events of a sync loop, and the interface of the object that handles them. Each event names its loop. References
// in events are valid during the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/host_services.hpp"
#include "core/snapshot/transaction.hpp"
#include "core/sync/sync_report.hpp"
#include "lib/ip.hpp"

namespace sluice::sync {

using RunId = std::uint64_t;  // unique within the process, from 1

// The loop of an event.
struct LoopId {
  RunId run = 0;        // the run of the backend that the loop belongs to
  std::string backend;  // id of its plugin
  lib::Family family = lib::Family::ipv4;
};

// The claims of the backend, after its first successful apply.
struct Claimed {
  const LoopId& loop;
  const std::vector<std::string>& claims;
};

// The backend begins to apply a transaction, or that has ended, with success or not. The end follows Applied.
struct Writing {
  const LoopId& loop;
  bool begins = false;
};

// The transaction is in the kernel.
struct Applied {
  const LoopId& loop;
  const snapshot::Transaction& transaction;
};

// A sync attempt has ended, with success or not.
struct Synced {
  const LoopId& loop;
  const SyncReport& report;
};

// The backend did not program a service port, for a reason that is new.
struct PortNotProgrammed {
  const LoopId& loop;
  const plugin::FailedServicePort& failed;
};

// The backend call that starts now, "create" or "probe"; empty when both have ended.
struct CallStarted {
  const LoopId& loop;
  std::string_view call;
};

// As plugin::HostObserver::event_reported.
struct EventReported {
  const LoopId& loop;
  abi::Severity severity;
  const std::string& reason;
  const std::string& note;
  const std::optional<plugin::ServicePortName>& regarding;
};

// As plugin::HostObserver::relayed.
struct PortRelayed {
  const LoopId& loop;
  plugin::RelayedPort port;
};

class SyncObserver {
 public:
  virtual ~SyncObserver() = default;

  // [apply thread]
  virtual void claimed(const Claimed& event) = 0;
  // [apply thread] The following functions must not block.
  virtual void writing(const Writing&) {}
  virtual void applied(const Applied&) {}
  virtual void synced(const Synced&) {}
  virtual void not_programmed(const PortNotProgrammed&) {}
  // [any thread of the plugin] As plugin::HostObserver::relayed. Must not block.
  virtual void relayed(const PortRelayed&) {}
  // [apply thread]
  virtual void call_started(const CallStarted&) {}
  // [any thread of the plugin]
  virtual void reported(const EventReported&) {}
};

}  // namespace sluice::sync
