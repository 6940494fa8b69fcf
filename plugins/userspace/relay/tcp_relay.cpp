// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/tcp_relay.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <new>
#include <utility>

namespace sluice::userspace {
namespace {

constexpr Nanoseconds kTrimEvery = 5'000'000'000;

Nanoseconds loop_time(std::chrono::nanoseconds value) noexcept { return static_cast<Nanoseconds>(value.count()); }

}  // namespace

void keep_alive(int fd, std::chrono::seconds idle) noexcept {
  const int on = 1;
  const int seconds = static_cast<int>(idle.count());
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

TcpRelay::TcpRelay(EventLoop& loop, TcpShared& shared, ClientSockets& client_sockets, ThreadStatistics& statistics,
                   unsigned thread)
    : loop_(loop),
      shared_(shared),
      client_sockets_(client_sockets),
      statistics_(statistics),
      thread_(thread),
      tools_(shared.settings.pipe_bytes, statistics.pipes),
      acceptor_(*this) {
  for (const auto timeout : settings().dial_timeouts) total_dial_timeout_ += loop_time(timeout);
}

TcpRelay::~TcpRelay() {
  for (auto listener = listeners_.begin(); listener != listeners_.end();) {
    ListenerConnections& connections = listener->second;
    ++listener;
    reset_by(connections, 0);
  }
}

void TcpRelay::add_descriptors(std::set<int>& out) const {
  for (const auto& [listener, group] : listeners_) {
    for (const TcpConnection& connection : group.connections) connection.add_descriptors(out);
  }
}

Nanoseconds TcpRelay::dial_timeout(unsigned time_outs) const noexcept {
  const auto& ladder = settings().dial_timeouts;
  return ladder.empty() ? 0 : loop_time(ladder[std::min<std::size_t>(time_outs, ladder.size() - 1)]);
}

Nanoseconds TcpRelay::when_removed() const noexcept {
  switch (settings().when_removed) {
    case WhenRemoved::kKeep:
      return 0;
    case WhenRemoved::kDrain:
      return loop_.now() + loop_time(settings().drain);
    case WhenRemoved::kReset:
      break;
  }
  return loop_.now();
}

// Compares the loads of all threads once per batch of events. Ignores small differences, since passing a connection to
// another thread has a cost.
TcpRelay& TcpRelay::choose_relay() noexcept {
  if (load_compared_at_ != loop_.now()) {
    load_compared_at_ = loop_.now();
    least_loaded_ = this;
    for (TcpRelay* relay : shared_.relays) {
      if (relay->load_.load(std::memory_order_relaxed) < least_loaded_->load_.load(std::memory_order_relaxed)) {
        least_loaded_ = relay;
      }
    }
  }
  const std::uint32_t own = load_.load(std::memory_order_relaxed);
  return own > least_loaded_->load_.load(std::memory_order_relaxed) + own / 4 ? *least_loaded_ : *this;
}

void TcpRelay::place_connection(lib::Fd client, const SocketAddress& address, const ListenerPtr& listener) noexcept {
  TcpRelay& there = choose_relay();
  there.load_.fetch_add(1, std::memory_order_relaxed);
  if (&there == this) return add_connection(std::move(client), address, listener);
  try {
    const auto socket = std::make_shared<lib::Fd>(std::move(client));
    there.loop_.post(
        [&there, socket, address, listener] { there.add_connection(std::move(*socket), address, listener); });
  } catch (const std::bad_alloc&) {
    there.uncount();
  }
}

void TcpRelay::accept_here(lib::Fd client, const SocketAddress& address, const ListenerPtr& listener) noexcept {
  load_.fetch_add(1, std::memory_order_relaxed);
  add_connection(std::move(client), address, listener);
}

void TcpRelay::add_connection(lib::Fd client, const SocketAddress& address, const ListenerPtr& listener) noexcept {
  try {
    ListenerConnections& connections = listeners_.try_emplace(listener.get(), listener).first->second;
    auto* connection = new TcpConnection(*this, connections, std::move(client), address);
    connections.connections.push_back(*connection);
    statistics_.accepted.add();
    statistics_.open.add();
    if (RelayedCount* const relayed = listener->relayed()) relayed->thread_counts(thread_).connections.add();
    connection->begin();
  } catch (const std::bad_alloc&) {
    uncount();
  }
}

void TcpRelay::uncount() noexcept {
  load_.fetch_sub(1, std::memory_order_relaxed);
  if (settings().max_connections != 0) shared_.open.fetch_sub(1, std::memory_order_relaxed);
}

void TcpRelay::ended(ListenerConnections& group) noexcept {
  statistics_.open.subtract();
  if (RelayedCount* const relayed = group.listener->relayed()) relayed->thread_counts(thread_).connections.subtract();
  uncount();
  acceptor_.on_connection_ended();
  erase_if_unused(group);
}

// Erases the group of a stopped listener if it has no connections.
void TcpRelay::erase_if_unused(ListenerConnections& group) noexcept {
  if (group.stopped && group.pins == 0 && group.connections.empty()) listeners_.erase(group.listener.get());
}

void TcpRelay::endpoints_gone(const ListenerPtr& listener, std::span<const EndpointPtr> gone) noexcept {
  const auto found = listeners_.find(listener.get());
  if (found == listeners_.end()) return;
  ListenerConnections& connections = found->second;
  const Nanoseconds reset_at = when_removed();
  ++connections.pins;
  for (const EndpointPtr& endpoint : gone) {
    const auto of_endpoint = connections.by_endpoint.find(endpoint.get());
    if (of_endpoint == connections.by_endpoint.end()) continue;
    auto& list = of_endpoint->second;
    for (auto at = list.begin(); at != list.end();) (at++)->endpoint_gone(reset_at);
    if (list.empty()) connections.by_endpoint.erase(of_endpoint);
  }
  --connections.pins;
  erase_if_unused(connections);
}

void TcpRelay::listener_closed(const ListenerPtr& listener, bool keep_connections) noexcept {
  const auto found = listeners_.find(listener.get());
  if (found == listeners_.end()) return;
  found->second.stopped = true;
  const Nanoseconds reset_at = keep_connections ? 0 : when_removed();
  if (reset_at != 0) return reset_by(found->second, reset_at);
  erase_if_unused(found->second);
}

void TcpRelay::reset(const RelayedCount& counted) noexcept {
  for (auto listener = listeners_.begin(); listener != listeners_.end();) {
    ListenerConnections& connections = listener->second;
    ++listener;
    if (connections.listener->relayed() == &counted) reset_by(connections, loop_.now());
  }
}

void TcpRelay::reset_by(ListenerConnections& group, Nanoseconds deadline) noexcept {
  ++group.pins;
  auto& list = group.connections;
  for (auto at = list.begin(); at != list.end();) (at++)->reset_by(deadline);
  --group.pins;
  erase_if_unused(group);
}

void TcpRelay::queue(TcpConnection& connection) noexcept {
  if (connection.waiting.is_linked()) return;
  turns_.push_back(connection);
  // After the current batch and the timers that are due.
  if (!turn_alarm_.armed()) loop_.arm(turn_alarm_, loop_.now() + 1);
}

void TcpRelay::run_turns() noexcept {
  ConnectionList<&TcpConnection::waiting> now;
  now.swap(turns_);
  while (!now.empty()) {
    TcpConnection& connection = now.front();
    now.pop_front();
    connection.take_turn();
  }
}

void TcpRelay::pipes_used() noexcept {
  if (tools_.pipes.kept() > 0 && !trim_alarm_.armed()) loop_.arm(trim_alarm_, loop_.now() + kTrimEvery);
}

void TcpRelay::trim_pipes() noexcept {
  tools_.pipes.trim();
  pipes_used();
}

}  // namespace sluice::userspace
