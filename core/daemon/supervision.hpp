// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Notifies the service manager (systemd): readiness, a status line and the watchdog. The
// watchdog is notified while the store answers and no backend call exceeds its time limit; the
// caller queries the store, and blocks if it hangs. Main thread only; owned by Daemon.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/notify.hpp"
#include "core/snapshot/store_thread.hpp"
#include "core/sync/sync_loop.hpp"
#include "lib/clock.hpp"
#include "lib/ip.hpp"

namespace sluice::daemon {

struct Supervised {
  struct PerFamily {
    lib::Family family;
    sync::LoopStatus loop;
    std::string overdue;  // the backend call that is past its limit, or empty
  };
  std::string source;  // the API server or the path of the source
  snapshot::StoreStatus store;
  std::vector<PerFamily> families;
};

// The most important thing first, without line breaks.
std::string status_line(const Supervised& now);
// Whether every backend call keeps its limit.
bool alive(const Supervised& now);

class Supervision {
 public:
  // `notifier` must outlive it.
  explicit Supervision(const base::Notifier& notifier);

  // How often to call report(); nothing without a service manager.
  std::optional<lib::Clock::Duration> interval() const;
  void ready();
  void report(const Supervised& now);
  void stopping(std::string_view why);

 private:
  const base::Notifier& notifier_;
  std::string last_line_;
};

}  // namespace sluice::daemon
