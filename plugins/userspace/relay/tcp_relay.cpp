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

Nanoseconds nanoseconds(std::chrono::nanoseconds value) noexcept { return static_cast<Nanoseconds>(value.count()); }

}  // namespace

void keep_alive(int fd, std::chrono::seconds idle) noexcept {
  const int on = 1;
  const int seconds = static_cast<int>(idle.count());
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

TcpRelay::TcpRelay(EventLoop& loop, TcpShared& shared, ThreadStatistics& statistics, unsigned thread)
    : loop_(loop),
      shared_(shared),
      statistics_(statistics),
      thread_(thread),
      tools_(shared.settings.pipe_bytes, statistics.pipes),
      acceptor_(*this) {
  for (const auto timeout : settings().dial_timeouts) patience_ += nanoseconds(timeout);
}

TcpRelay::~TcpRelay() {
  for (auto face = faces_.begin(); face != faces_.end();) {
    TcpFace& connections = face->second;
    ++face;
    reset_by(connections, 0);
  }
}

Nanoseconds TcpRelay::dial_timeout(unsigned time_outs) const noexcept {
  const auto& ladder = settings().dial_timeouts;
  return ladder.empty() ? 0 : nanoseconds(ladder[std::min<std::size_t>(time_outs, ladder.size() - 1)]);
}

Nanoseconds TcpRelay::when_removed() const noexcept {
  switch (settings().when_removed) {
    case WhenRemoved::kKeep:
      return 0;
    case WhenRemoved::kDrain:
      return loop_.now() + nanoseconds(settings().drain);
    case WhenRemoved::kReset:
      break;
  }
  return loop_.now();
}

// Every thread's count is looked at once for each batch of events, and small differences are left alone: a connection
// that changes threads costs both of them.
TcpRelay& TcpRelay::placement() noexcept {
  if (looked_at_ != loop_.now()) {
    looked_at_ = loop_.now();
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

void TcpRelay::take_in(Descriptor client, const abi::Address& address, const FacePtr& face) noexcept {
  TcpRelay& there = placement();
  there.load_.fetch_add(1, std::memory_order_relaxed);
  if (&there == this) return adopt(std::move(client), address, face);
  try {
    const auto socket = std::make_shared<Descriptor>(std::move(client));
    there.loop_.post([&there, socket, address, face] { there.adopt(std::move(*socket), address, face); });
  } catch (const std::bad_alloc&) {
    there.not_taken();
  }
}

void TcpRelay::take_in_here(Descriptor client, const abi::Address& address, const FacePtr& face) noexcept {
  load_.fetch_add(1, std::memory_order_relaxed);
  adopt(std::move(client), address, face);
}

void TcpRelay::adopt(Descriptor client, const abi::Address& address, const FacePtr& face) noexcept {
  try {
    TcpFace& connections = faces_.try_emplace(face.get(), face).first->second;
    auto* connection = new TcpConnection(*this, connections, std::move(client), address);
    connections.connections.push_back(*connection);
    statistics_.accepted.add();
    statistics_.open.add();
    if (RelayedCount* const relayed = face->relayed()) relayed->place(thread_).connections.add();
    connection->begin();
  } catch (const std::bad_alloc&) {
    not_taken();
  }
}

void TcpRelay::not_taken() noexcept {
  load_.fetch_sub(1, std::memory_order_relaxed);
  if (settings().max_connections != 0) shared_.open.fetch_sub(1, std::memory_order_relaxed);
}

void TcpRelay::ended(TcpFace& face) noexcept {
  statistics_.open.subtract();
  if (RelayedCount* const relayed = face.face->relayed()) relayed->place(thread_).connections.subtract();
  not_taken();
  acceptor_.something_ended();
  sweep(face);
}

// Forgets a face that nobody listens for and nobody is connected by.
void TcpRelay::sweep(TcpFace& face) noexcept {
  if (face.stopped && face.pins == 0 && face.connections.empty()) faces_.erase(face.face.get());
}

void TcpRelay::endpoints_gone(const FacePtr& face, std::span<const EndpointPtr> gone) noexcept {
  const auto found = faces_.find(face.get());
  if (found == faces_.end()) return;
  TcpFace& connections = found->second;
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
  sweep(connections);
}

void TcpRelay::face_gone(const FacePtr& face, bool stays) noexcept {
  const auto found = faces_.find(face.get());
  if (found == faces_.end()) return;
  found->second.stopped = true;
  const Nanoseconds reset_at = stays ? 0 : when_removed();
  if (reset_at != 0) return reset_by(found->second, reset_at);
  sweep(found->second);
}

void TcpRelay::reset(const RelayedCount& counted) noexcept {
  for (auto face = faces_.begin(); face != faces_.end();) {
    TcpFace& connections = face->second;
    ++face;
    if (connections.face->relayed() == &counted) reset_by(connections, loop_.now());
  }
}

void TcpRelay::reset_by(TcpFace& face, Nanoseconds deadline) noexcept {
  ++face.pins;
  auto& list = face.connections;
  for (auto at = list.begin(); at != list.end();) (at++)->reset_by(deadline);
  --face.pins;
  sweep(face);
}

void TcpRelay::queue(TcpConnection& connection) noexcept {
  if (connection.waiting.is_linked()) return;
  turns_.push_back(connection);
  // After the events in hand and what is due.
  if (!turn_alarm_.armed()) loop_.arm(turn_alarm_, loop_.now() + 1);
}

void TcpRelay::give_turns() noexcept {
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
