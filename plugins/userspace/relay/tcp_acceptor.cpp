// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/tcp_acceptor.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "plugins/userspace/relay/tcp_relay.hpp"

namespace sluice::userspace {
namespace {

constexpr Nanoseconds kRetry = 100'000'000;
// A shortage ends when it has not occurred for this time.
constexpr Nanoseconds kQuiet = 1'000'000'000;
constexpr unsigned kLargestBatch = 64;
constexpr rlim_t kReserve = 256;

// The last descriptors are reserved for dials of accepted connections, for iptables tools, and for the API server. The
// kernel assigns the lowest free number, so the number shows how many are in use.
int first_reserved_descriptor() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX) return INT_MAX;
  return static_cast<int>(limit.rlim_cur - std::min(limit.rlim_cur / 8, kReserve));
}

}  // namespace

TcpAcceptor::TcpAcceptor(TcpRelay& relay) noexcept : relay_(relay), reserve_from_(first_reserved_descriptor()) {}

TcpAcceptor::~TcpAcceptor() = default;

void TcpAcceptor::serve(ServingId id, std::shared_ptr<TcpListenSocket> socket, ListenerPtr listener) {
  const int fd = socket->socket.get();
  // Accepted sockets inherit these options, which saves system calls per connection.
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (relay_.settings().tcp_keepalive.count() > 0) keep_alive(fd, relay_.settings().tcp_keepalive);
  auto& watched = watched_[id];
  watched = std::make_unique<WatchedSocket>(*this, std::move(socket), std::move(listener));
  if (paused_) {
    unwatched_.push_back(*watched);
  } else {
    watch(*watched);
  }
}

void TcpAcceptor::watch(WatchedSocket& watched) noexcept {
  const int failure = relay_.loop().add(watched.fd(), EPOLLIN | EPOLLEXCLUSIVE, &watched);
  if (failure == 0 || failure == EEXIST) return;
  unwatched_.push_back(watched);
  shortage(TcpShortage::kWatch, failure);
}

void TcpAcceptor::stop(ServingId id, bool drain_queue) noexcept {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  std::unique_ptr<WatchedSocket> watched = std::move(found->second);
  watched_.erase(found);
  watched->stopped = true;
  watched->unwatched.unlink();
  relay_.loop().remove(watched->fd());
  if (watched->shared->watchers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    while (drain_queue && accept_one(*watched, true)) {
    }
    watched->shared->socket.reset();
  }
  relay_.loop().retire(std::move(watched));
}

void TcpAcceptor::accept_from(WatchedSocket& watched) noexcept {
  if (watched.stopped) return;
  if (paused_) {
    if (watched.unwatched.is_linked()) return;
    relay_.loop().remove(watched.fd());
    unwatched_.push_back(watched);
    return;
  }
  unsigned taken = 0;
  while (taken < watched.batch && !paused_ && accept_one(watched, false)) ++taken;
  // epoll is level-triggered and reports remaining connections again. The adaptive batch saves the accept4() call that
  // would find the queue empty.
  watched.batch = taken == watched.batch ? std::min(2 * watched.batch, kLargestBatch) : std::max(taken, 1U);
}

bool TcpAcceptor::below_limit() noexcept {
  const std::size_t limit = relay_.settings().max_connections;
  if (limit == 0) return true;
  if (relay_.shared().open.fetch_add(1, std::memory_order_relaxed) < limit) return true;
  relay_.shared().open.fetch_sub(1, std::memory_order_relaxed);
  shortage(TcpShortage::kLimit, 0);
  return false;
}

// Returns false if the queue is empty or accepting has paused. `drain_queue`: ignores the connection limit, and keeps
// the connection on this thread, since other threads may have stopped this listener already.
bool TcpAcceptor::accept_one(WatchedSocket& watched, bool drain_queue) noexcept {
  if (drain_queue) {
    if (relay_.settings().max_connections != 0) relay_.shared().open.fetch_add(1, std::memory_order_relaxed);
  } else if (!below_limit()) {
    return false;
  }
  SocketAddress client;
  int error = 0;
  do {
    socklen_t size = SocketAddress::capacity();
    lib::Fd socket(accept4(watched.fd(), client.get(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      if (socket.get() >= reserve_from_) shortage(TcpShortage::kDescriptors, EMFILE);
      if (drain_queue) {
        relay_.accept_here(std::move(socket), client, watched.listener);
      } else {
        relay_.place_connection(std::move(socket), client, watched.listener);
      }
      return true;
    }
    error = errno;
  } while (error == EINTR || error == ECONNABORTED || error == EPROTO);
  if (relay_.settings().max_connections != 0) relay_.shared().open.fetch_sub(1, std::memory_order_relaxed);
  if (error == EMFILE || error == ENFILE) {
    shortage(TcpShortage::kDescriptors, error);
  } else if (error == ENOBUFS || error == ENOMEM) {
    shortage(TcpShortage::kMemory, error);
  }
  return false;
}

void TcpAcceptor::count(TcpShortage shortage) noexcept {
  ThreadStatistics& statistics = relay_.statistics();
  switch (shortage) {
    case TcpShortage::kDescriptors:
      return statistics.pauses_descriptors.add();
    case TcpShortage::kPorts:
      return statistics.pauses_ports.add();
    case TcpShortage::kLimit:
      return statistics.pauses_limit.add();
    case TcpShortage::kMemory:
    case TcpShortage::kWatch:
      return statistics.pauses_memory.add();
  }
}

void TcpAcceptor::shortage(TcpShortage shortage, int error) noexcept {
  Condition& condition = conditions_[static_cast<std::size_t>(shortage)];
  condition.last = relay_.loop().now();
  if (!condition.active) {
    condition.active = true;
    count(shortage);
    relay_.shared().conditions.begins(shortage, error);
  }
  if (shortage == TcpShortage::kDescriptors) relay_.tools().pipes.clear();
  if (!paused_) relay_.statistics().paused.add();
  paused_ = true;
  if (!resume_.armed()) relay_.loop().arm(resume_, relay_.loop().now() + kRetry);
}

bool TcpAcceptor::has_spare_descriptors() const noexcept {
  const lib::Fd lowest(eventfd(0, EFD_CLOEXEC));
  return lowest && lowest.get() < reserve_from_;
}

void TcpAcceptor::on_connection_ended() noexcept {
  // After the current batch, so that many connections that end together cause one attempt.
  if (paused_) relay_.loop().arm(resume_, relay_.loop().now());
}

void TcpAcceptor::resume() noexcept {
  if (paused_) relay_.statistics().paused.subtract();
  paused_ = false;
  // Accepted connections that wait go before connections in the accept queues.
  while (!waiting_.empty() && !paused_) waiting_.front().retry();
  const bool few = conditions_[static_cast<std::size_t>(TcpShortage::kDescriptors)].active;
  if (few && !paused_ && !has_spare_descriptors()) shortage(TcpShortage::kDescriptors, EMFILE);
  if (paused_) return;
  for (std::size_t rounds = unwatched_.size(); rounds > 0 && !paused_; --rounds) {
    WatchedSocket& watched = unwatched_.front();
    unwatched_.pop_front();
    watch(watched);
  }
  const Nanoseconds now = relay_.loop().now();
  bool active = false;
  for (std::size_t i = 0; i < kTcpShortages; ++i) {
    Condition& condition = conditions_[i];
    if (condition.active && now >= condition.last + kQuiet) {
      condition.active = false;
      relay_.shared().conditions.ends(static_cast<TcpShortage>(i));
    }
    active = active || condition.active;
  }
  if (active && !resume_.armed()) relay_.loop().arm(resume_, now + kRetry);
}

}  // namespace sluice::userspace
