// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sends notifications to the service manager with the sd_notify(3) protocol: one datagram each to $NOTIFY_SOCKET.
// Does nothing if that variable is not set.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/fd.hpp"

namespace sluice::base {

class Notifier {
 public:
  // A notifier without a socket: every method does nothing.
  Notifier() = default;

  // Removes the variables from the environment, so that child processes do not send notifications for the daemon. Must
  // be called before threads start.
  static Notifier from_environment();

  bool is_enabled() const { return socket_.valid(); }
  // The interval within which the manager expects WATCHDOG=1; absent if it has no watchdog.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

  // [any thread] Sends "READY=1" or "STATUS=…"; separate several assignments by newlines. Never blocks: the message is
  // lost if the manager's socket is full or closed.
  void notify(std::string_view state) const;
  // Sends "RELOADING=1" with MONOTONIC_USEC, which Type=notify-reload needs (systemd 253 and later; older versions
  // ignore it). The caller must call ready() afterwards, also if the reload fails.
  void reloading() const;
  // Sends "READY=1": started, or a reload has ended.
  void ready() const;

  // The manager's socket address, for senders with their own socket; empty if there is none.
  const std::vector<char>& address() const { return address_; }

 private:
  lib::Fd socket_;
  std::vector<char> address_;  // a sockaddr_un, as long as it is
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace sluice::base
