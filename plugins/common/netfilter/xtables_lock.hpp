// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The lock under which legacy iptables rewrites its tables: a file locked with flock(), and
// before iptables 1.6 an abstract socket. iptables-nft needs none. One thread at a time.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "lib/fd.hpp"

namespace sluice::netfilter {

class XtablesLock {
 public:
  struct Place {
    std::string file;    // "/run/xtables.lock", or the value of XTABLES_LOCKFILE
    std::string socket;  // abstract name; empty: do not use the socket
  };
  static Place default_place();

  explicit XtablesLock(Place place) : place_(std::move(place)) {}
  ~XtablesLock() { release(); }
  XtablesLock(const XtablesLock&) = delete;
  XtablesLock& operator=(const XtablesLock&) = delete;

  // Tries every `pause` until `limit` has passed or `stopped` (may be empty) returns true; returns whether the lock is
  // held. Throws std::system_error if locking is impossible on this node.
  bool acquire(std::chrono::milliseconds limit, std::chrono::milliseconds pause,
               const std::function<bool()>& stopped = {});
  void release() noexcept;

  // How long the last acquire() took.
  std::chrono::milliseconds waited() const noexcept { return waited_; }

 private:
  bool try_file();
  bool try_socket();

  Place place_;
  lib::Fd file_;
  lib::Fd socket_;
  std::chrono::milliseconds waited_{0};
};

}  // namespace sluice::netfilter
