// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a service manager (systemd) is told: that the daemon has started, one line of how
// it is, and that it lives. It lives as long as its store answers and no call of a backend
// is past its limit: the caller asks the store, and asks in vain when that hangs.
// Used on the main thread only; owned by Daemon.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/ip.hpp"
#include "core/base/notify.hpp"
#include "core/snapshot/store_thread.hpp"
#include "core/sync/sync_loop.hpp"

namespace sluice::daemon {

struct Supervised {
  struct PerFamily {
    base::Family family;
    sync::LoopStatus loop;
    std::string overdue;  // the backend call that is past its limit, or empty
  };
  std::string source;  // where Services come from: a server, a path
  snapshot::StoreStatus store;
  std::vector<PerFamily> families;
};

// The most important thing first, without line breaks.
std::string status_line(const Supervised& now);
// Whether every backend call keeps its limit.
bool alive(const Supervised& now);

class Supervision {
 public:
  // `notifier` outlives it.
  explicit Supervision(const base::Notifier& notifier);

  // How often tell() wants to be called; nothing when nobody listens.
  std::optional<base::Clock::Duration> interval() const;
  void ready();
  void tell(const Supervised& now);
  void stopping(std::string_view why);

 private:
  const base::Notifier& notifier_;
  std::string said_;
};

}  // namespace sluice::daemon
