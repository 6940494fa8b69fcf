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
// A shortage is over when it has not been met for so long.
constexpr Nanoseconds kQuiet = 1'000'000'000;
constexpr unsigned kLargestBatch = 64;
constexpr rlim_t kReserve = 256;

// The last descriptors are for those who may not wait: dials of who is accepted, the programs that write rules, the
// API server. The kernel gives the lowest free number, so the number tells how many are in use.
int first_reserved_descriptor() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX) return INT_MAX;
  return static_cast<int>(limit.rlim_cur - std::min(limit.rlim_cur / 8, kReserve));
}

}  // namespace

TcpAcceptor::TcpAcceptor(TcpRelay& relay) noexcept : relay_(relay), reserve_from_(first_reserved_descriptor()) {}

TcpAcceptor::~TcpAcceptor() = default;

void TcpAcceptor::serve(ServingId id, std::shared_ptr<TcpListenSocket> socket, FacePtr face) {
  const int fd = socket->socket.get();
  // Accepted sockets inherit these, so they cost a connection nothing.
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (relay_.settings().tcp_keepalive.count() > 0) keep_alive(fd, relay_.settings().tcp_keepalive);
  auto& listener = listeners_[id];
  listener = std::make_unique<Listener>(*this, std::move(socket), std::move(face));
  if (paused_) {
    out_.push_back(*listener);
  } else {
    watch(*listener);
  }
}

void TcpAcceptor::watch(Listener& listener) noexcept {
  const int failure = relay_.loop().add(listener.fd(), EPOLLIN | EPOLLEXCLUSIVE, &listener);
  if (failure == 0 || failure == EEXIST) return;
  out_.push_back(listener);
  shortage(TcpShortage::kWatch, failure);
}

void TcpAcceptor::stop(ServingId id, bool last_call) noexcept {
  const auto found = listeners_.find(id);
  if (found == listeners_.end()) return;
  std::unique_ptr<Listener> listener = std::move(found->second);
  listeners_.erase(found);
  listener->stopped = true;
  listener->out.unlink();
  relay_.loop().remove(listener->fd());
  if (listener->shared->watchers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    while (last_call && accept_one(*listener, true)) {
    }
    listener->shared->socket.close();
  }
  relay_.loop().retire(std::move(listener));
}

void TcpAcceptor::accept_from(Listener& listener) noexcept {
  if (listener.stopped) return;
  if (paused_) {
    if (listener.out.is_linked()) return;
    relay_.loop().remove(listener.fd());
    out_.push_back(listener);
    return;
  }
  unsigned taken = 0;
  while (taken < listener.batch && !paused_ && accept_one(listener, false)) ++taken;
  // It is level-triggered: what is left is told again. So where connections come one by one, the call that would find
  // the queue empty is saved.
  listener.batch = taken == listener.batch ? std::min(2 * listener.batch, kLargestBatch) : std::max(taken, 1U);
}

bool TcpAcceptor::below_limit() noexcept {
  const std::size_t limit = relay_.settings().max_connections;
  if (limit == 0) return true;
  if (relay_.shared().open.fetch_add(1, std::memory_order_relaxed) < limit) return true;
  relay_.shared().open.fetch_sub(1, std::memory_order_relaxed);
  shortage(TcpShortage::kLimit, 0);
  return false;
}

// False: there is none, or it has paused. `last_call`: whoever is left is turned away, so the limit does not count, and
// no other thread may be given one, because it may have heard of the end already.
bool TcpAcceptor::accept_one(Listener& listener, bool last_call) noexcept {
  if (last_call) {
    if (relay_.settings().max_connections != 0) relay_.shared().open.fetch_add(1, std::memory_order_relaxed);
  } else if (!below_limit()) {
    return false;
  }
  SocketAddress client;
  int error = 0;
  do {
    socklen_t size = SocketAddress::capacity();
    Descriptor socket(accept4(listener.fd(), client.get(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      if (socket.get() >= reserve_from_) shortage(TcpShortage::kDescriptors, EMFILE);
      if (last_call) {
        relay_.take_in_here(std::move(socket), client.address(), listener.face);
      } else {
        relay_.take_in(std::move(socket), client.address(), listener.face);
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
  const Descriptor lowest(eventfd(0, EFD_CLOEXEC));
  return lowest && lowest.get() < reserve_from_;
}

void TcpAcceptor::something_ended() noexcept {
  // After the events in hand, so that many that end together make one attempt.
  if (paused_) relay_.loop().arm(resume_, relay_.loop().now());
}

void TcpAcceptor::resume() noexcept {
  if (paused_) relay_.statistics().paused.subtract();
  paused_ = false;
  // Those who wait in here go before those who wait outside.
  while (!waiting_.empty() && !paused_) waiting_.front().retry();
  const bool few = conditions_[static_cast<std::size_t>(TcpShortage::kDescriptors)].active;
  if (few && !paused_ && !has_spare_descriptors()) shortage(TcpShortage::kDescriptors, EMFILE);
  if (paused_) return;
  for (std::size_t rounds = out_.size(); rounds > 0 && !paused_; --rounds) {
    Listener& listener = out_.front();
    out_.pop_front();
    watch(listener);
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
