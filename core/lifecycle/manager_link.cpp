// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/manager_link.hpp"

#include <sys/socket.h>

#include <utility>

namespace sluice::lifecycle {

StoreLink::Opened ManagerLink::open() {
  if (socket_.valid()) return Opened::same;
  // Connected, so that poll() reports when there is room.
  lib::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid() || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(address_.data()),
                                   static_cast<socklen_t>(address_.size())) != 0) {
    return Opened::failed;
  }
  socket_ = std::move(socket);
  return Opened::same;
}

// Without FDPOLL=0 the manager drops a descriptor with EPOLLERR or EPOLLHUP.
std::string ManagerLink::store_message(const std::string& name) const {
  return "FDSTORE=1\nFDPOLL=0\nFDNAME=" + name;
}

std::string ManagerLink::remove_message(const std::string& name) const { return "FDSTOREREMOVE=1\nFDNAME=" + name; }

}  // namespace sluice::lifecycle
