// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/tcp_connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "plugins/userspace/relay/proxy_protocol.hpp"
#include "plugins/userspace/relay/tcp_relay.hpp"

namespace sluice::userspace {
namespace {

// Makes close() send a RST.
void abort_on_close(const lib::Fd& socket) noexcept {
  if (!socket) return;
  const linger at_once{1, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

}  // namespace

TcpConnection::TcpConnection(TcpRelay& relay, ListenerConnections& group, lib::Fd client,
                             const SocketAddress& address) noexcept
    : relay_(relay), group_(group), address_(address) {
  client_.socket = std::move(client);
  client_.writable = true;
  client_.quick = true;  // inherited from the listening socket
  last_active_ = relay_.loop().now();
  give_up_at_ = last_active_ + relay_.total_dial_timeout();
}

void TcpConnection::arm(Nanoseconds deadline) noexcept {
  relay_.loop().arm(*this, reset_at_ == 0 ? deadline : std::min(deadline, reset_at_));
}

void TcpConnection::begin() noexcept {
  // Before the loop watches the socket, so that it does not report this data.
  if (!up_.read_ahead(client_, relay_.tools())) return reset();
  if (relay_.loop().add(client_.socket.get(), kStreamEvents, &client_) != 0) return end();
  if (!decide_source()) return end();
  dial();
}

void TcpConnection::on_end(End& end, std::uint32_t events) noexcept {
  if (state_ == State::kEnded) return;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) end.readable = true;
  if ((events & EPOLLOUT) != 0) end.writable = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) end.hung_up = true;
  if ((events & EPOLLERR) != 0) end.failed = true;
  if (state_ == State::kRelaying) {
    // A queued connection has had its turn already.
    if (!waiting.is_linked()) run();
    return;
  }
  if (&end == &client_) {
    // A client that half-closed still waits for the response; a client that has gone does not.
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) reset();
    return;
  }
  if (state_ != State::kDialling) return;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    if (attempt_failed(true)) dial();
  } else if ((events & EPOLLOUT) != 0) {
    connected();
  }
}

void TcpConnection::on_timer() noexcept {
  const Nanoseconds now = relay_.loop().now();
  if (reset_at_ != 0 && now >= reset_at_) {
    relay_.statistics().ended_drained.add();
    return reset();
  }
  if (state_ == State::kRelaying) return check_age();
  if (state_ == State::kDialling) {
    ++time_outs_;
    if (!attempt_failed(true)) return;
  }
  dial();
}

void TcpConnection::connected() noexcept {
  state_ = State::kRelaying;
  group_.listener->balancer().dial_succeeded(endpoint_);
  group_.listener->traffic().connected();
  endpoint_->traffic().connected();
  std::vector<EndpointPtr>().swap(tried_);
  if (group_.listener->sends_proxy_header()) {
    const ProxyHeader header = proxy_header_of(client_.socket.get());
    if (!up_.put_first(header.bytes.data(), header.size)) return reset();
  }
  // The dial timer stays armed: a connection that still exists when it fires is not short-lived (see check_age()).
  run();
}

void TcpConnection::run() noexcept {
  last_active_ = relay_.loop().now();
  ThreadStatistics& statistics = relay_.statistics();
  if (!advance(up_, down_, client_, server_, statistics.bytes_to_endpoint, &Traffic::bytes)) return;
  if (!advance(down_, up_, server_, client_, statistics.bytes_to_client, &Traffic::reply_bytes)) return;
  relay_.pipes_used();
  if ((client_.failed || server_.failed) && !waiting.is_linked()) {
    // Data sent before the reset has been passed on as far as the other side accepts it.
    statistics.ended_reset.add();
    return reset();
  }
  if (up_.ended && down_.ended) end();
}

// Returns false if the connection has ended.
bool TcpConnection::advance(TcpFlow& flow, const TcpFlow& other, End& from, End& to, Counter& bytes,
                            Traffic::Count Traffic::*counted) noexcept {
  if (flow.ended) return true;
  const std::uint64_t before = bytes.get();
  const TcpFlow::Outcome outcome = flow.run(from, to, relay_.tools(), bytes, last_active_);
  if (const std::uint64_t moved = bytes.get() - before; moved != 0) {
    Traffic::add(group_.listener->traffic().*counted, moved);
    Traffic::add(endpoint_->traffic().*counted, moved);
  }
  switch (outcome) {
    case TcpFlow::Outcome::kWaits:
      return true;
    case TcpFlow::Outcome::kMore:
      relay_.queue(*this);
      return true;
    case TcpFlow::Outcome::kEnded:
      flow.ended = true;
      if (!other.ended && !from.failed) shutdown(to.socket.get(), SHUT_WR);
      return true;
    case TcpFlow::Outcome::kFailed:
      break;
  }
  relay_.statistics().ended_reset.add();
  reset();
  return false;
}

// Runs when a connection is no longer short-lived: only then sets keepalive towards the endpoint and checks the idle
// timeout, which saves short connections the system calls.
void TcpConnection::check_age() noexcept {
  const RelaySettings& settings = relay_.settings();
  if (!kept_alive_ && settings.tcp_keepalive.count() > 0) keep_alive(server_.socket.get(), settings.tcp_keepalive);
  kept_alive_ = true;
  const Nanoseconds idle = std::chrono::nanoseconds(settings.tcp_idle_timeout).count();
  if (idle == 0) {
    if (reset_at_ != 0) arm(reset_at_);
    return;
  }
  if (relay_.loop().now() < last_active_ + idle) return arm(last_active_ + idle);
  relay_.statistics().ended_idle.add();
  reset();
}

void TcpConnection::endpoint_gone(Nanoseconds reset_at) noexcept {
  if (state_ == State::kRelaying) {
    if (reset_at != 0) reset_by(reset_at);
  } else if (state_ == State::kDialling && attempt_failed(false)) {
    // After the batch, which may contain an event of the old socket.
    arm(relay_.loop().now());
  }
}

void TcpConnection::reset_by(Nanoseconds deadline) noexcept {
  if (deadline <= relay_.loop().now()) {
    relay_.statistics().ended_drained.add();
    return reset();
  }
  if (reset_at_ == 0 || deadline < reset_at_) reset_at_ = deadline;
  arm(armed() ? this->deadline() : reset_at_);
}

void TcpConnection::reset() noexcept {
  if (state_ == State::kEnded) return;
  abort_on_close(client_.socket);
  abort_on_close(server_.socket);
  end();
}

void TcpConnection::add_descriptors(std::set<int>& out) const {
  for (const End* end : {&client_, &server_}) {
    if (end->socket.valid()) out.insert(end->socket.get());
  }
}

void TcpConnection::end() noexcept {
  if (state_ == State::kEnded) return;
  if (state_ == State::kDialling) {
    group_.listener->balancer().dial_abandoned(endpoint_);
    server_.socket.reset();
    remove_entry();
  }
  if (state_ == State::kRelaying) {
    group_.listener->traffic().disconnected();
    endpoint_->traffic().disconnected();
  }
  state_ = State::kEnded;
  disarm();
  // As the kernel does for a socket with unread data: the client learns that its request was lost.
  if (up_.holds_data()) abort_on_close(client_.socket);
  up_.drop(relay_.tools());
  down_.drop(relay_.tools());
  leave_endpoint();
  client_.socket.reset();
  server_.socket.reset();
  of_listener.unlink();
  waiting.unlink();
  relay_.ended(group_);
  relay_.loop().retire(std::unique_ptr<Retired>(this));
}

}  // namespace sluice::userspace
