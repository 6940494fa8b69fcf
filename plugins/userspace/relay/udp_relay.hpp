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
  // All outlive the relay. `max_clients` is this thread's share, `thread` its number in the engine.
  UdpRelay(EventLoop& loop, const RelaySettings& settings, std::size_t max_clients, ThreadStatistics& statistics,
           unsigned thread = 0);
  ~UdpRelay();  // drops everything
  UdpRelay(const UdpRelay&) = delete;
  UdpRelay& operator=(const UdpRelay&) = delete;

  // Takes over one socket of the face's group; `id` is not served yet. 0 or an errno.
  [[nodiscard]] int serve(ServingId id, Descriptor socket, FacePtr face);
  // Reads nothing more from it: somebody else has the same socket and does. Replies still go out by it.
  void mute(ServingId id);
  // Closes its socket and drops its clients. `last_call`: what has arrived, and is not somebody else's to read, is
  // relayed before.
  void stop(ServingId id, bool last_call = false);
  // Drops the clients that were led to these.
  void endpoints_gone(std::span<const EndpointPtr> gone);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::userspace
