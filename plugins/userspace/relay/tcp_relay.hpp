// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The TCP relay of one thread: its listening sockets, its connections by listener and endpoint, and
// the queue of connections that wait for their turn.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "plugins/userspace/relay/client_socket.hpp"
#include "plugins/userspace/relay/tcp_acceptor.hpp"

namespace sluice::userspace {

// Shared by the threads of one engine. Outlives them.
struct TcpShared {
  explicit TcpShared(const RelaySettings& given) : settings(given) {}
  const RelaySettings settings;
  TcpConditions conditions;
  std::atomic<std::size_t> open{0};  // counted only if max_connections is set
  std::vector<TcpRelay*> relays;     // complete before the first thread runs
};

// Enables TCP keepalive.
void keep_alive(int fd, std::chrono::seconds idle) noexcept;

// Only on the thread of the loop. Functions that are not noexcept may throw std::bad_alloc.
class TcpRelay {
 public:
  // All references outlive the relay. `thread` is the number of the thread in the engine.
  TcpRelay(EventLoop& loop, TcpShared& shared, ClientSockets& client_sockets, ThreadStatistics& statistics,
           unsigned thread);
  ~TcpRelay();  // resets every connection. REQUIRES: the loop does not run
  TcpRelay(const TcpRelay&) = delete;
  TcpRelay& operator=(const TcpRelay&) = delete;

  TcpAcceptor& acceptor() noexcept { return acceptor_; }
  EventLoop& loop() noexcept { return loop_; }
  TcpShared& shared() noexcept { return shared_; }
  const RelaySettings& settings() const noexcept { return shared_.settings; }
  ThreadStatistics& statistics() noexcept { return statistics_; }
  FlowTools& tools() noexcept { return tools_; }
  ClientSockets& client_sockets() noexcept { return client_sockets_; }

  // The timeout of the next dial after `time_outs` dials that timed out; the sum of all timeouts.
  Nanoseconds dial_timeout(unsigned time_outs) const noexcept;
  Nanoseconds total_dial_timeout() const noexcept { return total_dial_timeout_; }

  // Assigns an accepted connection to this thread, or to a thread with a clearly lower load; accept_here() always to
  // this one.
  void place_connection(lib::Fd client, const SocketAddress& address, const ListenerPtr& listener) noexcept;
  void accept_here(lib::Fd client, const SocketAddress& address, const ListenerPtr& listener) noexcept;

  void endpoints_gone(const ListenerPtr& listener, std::span<const EndpointPtr> gone) noexcept;
  // All sockets of the listener are closed. `keep_connections`: established connections continue, whatever the
  // settings.
  void listener_closed(const ListenerPtr& listener, bool keep_connections) noexcept;
  // Resets all connections counted in `counted`.
  void reset(const RelayedCount& counted) noexcept;

  // Any thread: connections, including those being passed from other threads.
  std::size_t load() const noexcept { return load_.load(); }
  // The sockets of all connections. REQUIRES: the loop does not run
  void add_descriptors(std::set<int>& out) const;

  // The following are called by connections of this relay.
  void queue(TcpConnection& connection) noexcept;
  void ended(ListenerConnections& group) noexcept;
  void pipes_used() noexcept;

 private:
  void add_connection(lib::Fd client, const SocketAddress& address, const ListenerPtr& listener) noexcept;
  void uncount() noexcept;
  TcpRelay& choose_relay() noexcept;
  Nanoseconds when_removed() const noexcept;
  void run_turns() noexcept;
  void trim_pipes() noexcept;
  void erase_if_unused(ListenerConnections& group) noexcept;
  void reset_by(ListenerConnections& group, Nanoseconds deadline) noexcept;

  EventLoop& loop_;
  TcpShared& shared_;
  ClientSockets& client_sockets_;
  ThreadStatistics& statistics_;
  const unsigned thread_;
  Nanoseconds total_dial_timeout_ = 0;
  FlowTools tools_;
  std::atomic<std::uint32_t> load_{0};  // connections, including those being passed from other threads
  TcpRelay* least_loaded_ = this;
  Nanoseconds load_compared_at_ = 0;
  std::unordered_map<const Listener*, ListenerConnections> listeners_;
  ConnectionList<&TcpConnection::waiting> turns_;
  TcpAcceptor acceptor_;
  Alarm<TcpRelay> turn_alarm_{*this, &TcpRelay::run_turns};
  Alarm<TcpRelay> trim_alarm_{*this, &TcpRelay::trim_pipes};
};

}  // namespace sluice::userspace
