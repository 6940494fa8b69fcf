// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Starts the first backend. Reports a backend that hangs to the log and to the service manager.
#pragma once

#include <functional>
#include <utility>

#include "core/base/notify.hpp"
#include "core/config/settings.hpp"
#include "core/daemon/delivery.hpp"
#include "core/daemon/node_state.hpp"
#include "core/lifecycle/backends.hpp"
#include "core/observe/start_trace.hpp"
#include "lib/clock.hpp"

namespace sluice::daemon {

class BackendStart {
 public:
  // `hangs` [main thread] is called after each report; a server that shows the pending call can start there. All must
  // outlive it.
  BackendStart(lifecycle::Backends& backends, Delivery& delivery, NodeState& node, observe::StartTrace& start_trace,
               const base::Notifier& notifier, const lib::Clock& clock, std::function<void()> hangs)
      : backends_(backends),
        delivery_(delivery),
        node_(node),
        start_trace_(start_trace),
        notifier_(notifier),
        clock_(clock),
        hangs_(std::move(hangs)) {}

  // [main thread] Ends the process on SIGTERM or SIGINT while the backend hangs.
  lib::Status run(const config::Settings& settings);

 private:
  lib::Status start(const config::Settings& settings);
  void report(const config::Settings& settings, lib::Clock::Duration since_start);

  lifecycle::Backends& backends_;
  Delivery& delivery_;
  NodeState& node_;
  observe::StartTrace& start_trace_;
  const base::Notifier& notifier_;
  const lib::Clock& clock_;
  const std::function<void()> hangs_;
};

}  // namespace sluice::daemon
