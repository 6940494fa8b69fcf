// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Words to the service manager, in the protocol of sd_notify(3): one datagram each to the
// socket that $NOTIFY_SOCKET names. Says nothing where nobody listens. Decides nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fd.hpp"

namespace sluice::base {

class Notifier {
 public:
  // Speaks to nobody.
  Notifier() = default;

  // Takes the variables out of the environment, so that programs we start do not speak for
  // us: before there are threads.
  static Notifier from_environment();

  bool listened_to() const { return socket_.valid(); }
  // How often at least the manager wants to hear WATCHDOG=1; nothing when it does not.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

  // [any thread] "READY=1" or "STATUS=…", several lines are several words. Never waits: what
  // the manager has no room for is lost, and so is everything once it is gone.
  void say(std::string_view words) const;
  // "RELOADING=1", with the time that managers want that wait for what follows (systemd from
  // 253 on, Type=notify-reload); older ones ignore it. ready() is to follow in any case.
  void reloading() const;
  // "READY=1": started, or a reload has ended.
  void ready() const;

  // Where the manager listens, for a speaker with a socket of its own; empty when nobody does.
  const std::vector<char>& address() const { return address_; }

 private:
  Fd socket_;
  std::vector<char> address_;  // a sockaddr_un, as long as it is
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace sluice::base
