// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One thread's share of relaying datagrams: an upstream socket for each client, so that
// the kernel tells replies apart and reports ICMP errors.
#pragma once

#include <memory>
#include <span>

#include "plugins/userspace/relay/engine.hpp"
#include "plugins/userspace/relay/event_loop.hpp"

namespace sluice::userspace {

// The loop's thread only.
class UdpRelay {
 public:
  // All outlive the relay. `max_clients` is this thread's share.
  UdpRelay(EventLoop& loop, const RelaySettings& settings, std::size_t max_clients, ThreadStatistics& statistics);
  ~UdpRelay();  // drops everything
  UdpRelay(const UdpRelay&) = delete;
  UdpRelay& operator=(const UdpRelay&) = delete;

  // Takes over one socket of the face's group; `id` is not served yet. 0 or an errno.
  [[nodiscard]] int serve(ServingId id, Descriptor socket, FacePtr face);
  // Closes its socket and drops its clients.
  void stop(ServingId id);
  // Drops the clients that were led to these.
  void endpoints_gone(std::span<const EndpointPtr> gone);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::userspace
