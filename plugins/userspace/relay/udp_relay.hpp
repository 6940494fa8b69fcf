// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The UDP relay of one thread. Each client has its own connected socket to an endpoint, so that the
// kernel assigns replies and ICMP errors to clients.
#pragma once

#include <memory>
#include <span>

#include "plugins/userspace/relay/engine.hpp"
#include "plugins/userspace/relay/event_loop.hpp"

namespace sluice::userspace {

class ClientSockets;

// Only on the thread of the loop.
class UdpRelay {
 public:
  // All references outlive the relay. `max_clients` is the share of this thread, `thread` its number in the engine.
  // Without `client_sockets`, endpoints see the address of the node.
  UdpRelay(EventLoop& loop, const RelaySettings& settings, std::size_t max_clients, ThreadStatistics& statistics,
           unsigned thread = 0, ClientSockets* client_sockets = nullptr);
  ~UdpRelay();  // drops all clients
  UdpRelay(const UdpRelay&) = delete;
  UdpRelay& operator=(const UdpRelay&) = delete;

  // Takes ownership of one socket of the listener's group. 0 or an errno. REQUIRES: `id` is not served yet
  [[nodiscard]] int serve(ServingId id, lib::Fd socket, ListenerPtr listener);
  // Stops reading from its socket, which another backend reads from now on. Replies are still sent from it.
  void stop_reading(ServingId id);
  // Closes its socket and drops its clients. `drain_queue`: relays queued datagrams before, unless reading was stopped.
  void stop(ServingId id, bool drain_queue = false);
  // Drops the clients of these endpoints.
  void endpoints_gone(std::span<const EndpointPtr> gone);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::userspace
