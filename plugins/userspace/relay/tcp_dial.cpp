// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Dialling: finds an endpoint that answers (BEH 8.4).
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <utility>

#include "plugins/userspace/relay/arrival.hpp"
#include "plugins/userspace/relay/endpoint_socket.hpp"
#include "plugins/userspace/relay/tcp_connection.hpp"
#include "plugins/userspace/relay/tcp_relay.hpp"

namespace sluice::userspace {
namespace {

constexpr std::size_t kAttempts = 4;

// Errors of this node, which dialling another endpoint does not avoid.
bool of_this_node(int error) noexcept {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EADDRNOTAVAIL:
    case EAGAIN:
    case ENOSPC:
      return true;
    default:
      return false;
  }
}

TcpShortage shortage_of(int error) noexcept {
  switch (error) {
    case EMFILE:
    case ENFILE:
      return TcpShortage::kDescriptors;
    case EADDRNOTAVAIL:
    case EAGAIN:
      return TcpShortage::kPorts;
    default:
      return TcpShortage::kMemory;
  }
}

// EADDRNOTAVAIL means that local ports have run out, or that the node has no source address for the target, which is
// then an unreachable endpoint. UDP has separate ports, so that connecting a UDP socket fails only in the second case.
bool has_source_address(const SocketAddress& target, std::uint32_t mark) noexcept {
  lib::Fd probe;
  return open_endpoint_socket(target.family(), SOCK_DGRAM, mark, probe) != 0 ||
         connect(probe.get(), target.get(), target.size()) == 0 || errno != EADDRNOTAVAIL;
}

}  // namespace

void TcpConnection::dial() noexcept {
  waiting.unlink();
  state_ = State::kWaiting;
  const Nanoseconds now = relay_.loop().now();
  for (;;) {
    if (now >= give_up_at_ || (attempts_ >= kAttempts && attempts_ >= group_.listener->balancer().endpoints())) {
      return give_up();
    }
    if (!choose(now)) return;
    const int error = attempt(now);
    if (error == 0) return;
    if (of_this_node(error)) return wait_for_node(error);
    if (!attempt_failed(true)) return;
  }
}

// Returns false if the connection has ended.
bool TcpConnection::choose(Nanoseconds now) noexcept {
  try {
    endpoint_ = group_.listener->balancer().next(address_.address(), now, tried_);
    if (endpoint_ != nullptr) {
      endpoint_->connected();
      group_.by_endpoint[endpoint_.get()].push_back(*this);
      return true;
    }
  } catch (const std::bad_alloc&) {
    end();
    return false;
  }
  if (attempts_ == 0) {
    relay_.statistics().refused_no_endpoint.add();
    Traffic::add(group_.listener->traffic().refused, 1);
    end();
  } else {
    give_up();
  }
  return false;
}

// Starts a dial. Returns 0, or the errno of an immediate failure.
int TcpConnection::attempt(Nanoseconds now) noexcept {
  server_.readable = server_.hung_up = server_.failed = false;
  if (const int error = connect_to_endpoint(now); error != 0) {
    if (of_this_node(error)) return error;
    ++attempts_;
    relay_.statistics().dials.add();
    return error;
  }
  const int failure = relay_.loop().add(server_.socket.get(), kStreamEvents, &server_);
  if (failure != 0) return failure;
  ++attempts_;
  relay_.statistics().dials.add();
  state_ = State::kDialling;
  arm(std::min(now + relay_.dial_timeout(time_outs_), give_up_at_));
  return 0;
}

// Decides whether endpoints see the address of the client. Returns false without memory.
bool TcpConnection::decide_source() noexcept {
  try {
    shown_as_ = group_.listener->client(address_.address(), TcpArrival(client_.socket.get(), address_.family()));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool TcpConnection::was_tried(const EndpointPtr& endpoint) const noexcept {
  return std::find(tried_.begin(), tried_.end(), endpoint) != tried_.end();
}

// Returns 0 if the socket is connected or connects, or an errno.
int TcpConnection::connect_to_endpoint(Nanoseconds now) noexcept {
  const SocketAddress& target = endpoint_->target();
  const std::uint32_t mark = group_.listener->mark();
  ThreadStatistics& statistics = relay_.statistics();
  // An endpoint that reaches itself through the Service must not see its own address.
  const bool keep = shown_as_.kept && !(target.address() == address_.address());
  if (keep && !shown_as_.possible && !shown_as_.is_here) {
    statistics.clients_lost.add();
  } else if (keep) {
    ClientSockets::Opened opened = relay_.client_sockets().connect_tcp(
        {target, mark, address_, shown_as_.is_here, up_.holds_data(), was_tried(endpoint_)}, now);
    if (opened.source == ClientSockets::Source::kClient) {
      server_.socket = std::move(opened.socket);
      entry_ = opened.entry;
      statistics.clients_kept.add();
      return opened.error;
    }
    (opened.source == ClientSockets::Source::kNode ? statistics.clients_hidden : statistics.clients_lost).add();
  } else {
    statistics.clients_hidden.add();
  }
  if (const int failure = open_endpoint_socket(target.family(), SOCK_STREAM, mark, server_.socket); failure != 0) {
    return failure;
  }
  if (up_.holds_data()) acknowledge_with_data(server_.socket.get());
  if (connect(server_.socket.get(), target.get(), target.size()) == 0 || errno == EINPROGRESS || errno == EINTR) {
    return 0;
  }
  return errno == EADDRNOTAVAIL && !has_source_address(target, mark) ? ENETUNREACH : errno;
}

// Of a dial that failed: the next one to the same endpoint would find the address and port of the client in use.
void TcpConnection::remove_entry() noexcept {
  if (entry_.family() == AF_UNSPEC) return;
  relay_.client_sockets().remove_entry(IPPROTO_TCP, entry_, endpoint_->target());
  entry_ = SocketAddress();
}

// `blame`: the endpoint has failed; otherwise it was removed. Returns false if the connection has ended.
bool TcpConnection::attempt_failed(bool blame) noexcept {
  state_ = State::kWaiting;
  server_.socket.reset();
  remove_entry();
  relay_.statistics().dials_failed.add();
  if (blame) {
    group_.listener->balancer().dial_failed(endpoint_, relay_.loop().now());
    try {
      if (!was_tried(endpoint_)) tried_.push_back(endpoint_);
    } catch (const std::bad_alloc&) {
      end();
      return false;
    }
  } else {
    // The endpoint was removed and has not failed: changes of endpoints must not use up the attempts.
    --attempts_;
    group_.listener->balancer().dial_abandoned(endpoint_);
  }
  leave_endpoint();
  return true;
}

// The client waits until the shortage ends; the endpoint does not count as failed.
void TcpConnection::wait_for_node(int error) noexcept {
  server_.socket.reset();
  remove_entry();
  group_.listener->balancer().dial_abandoned(endpoint_);
  leave_endpoint();
  state_ = State::kWaiting;
  arm(give_up_at_);
  relay_.acceptor().wait(*this);
  relay_.acceptor().shortage(shortage_of(error), error);
}

void TcpConnection::give_up() noexcept {
  relay_.statistics().failed_all_dials.add();
  Traffic::add(group_.listener->traffic().refused, 1);
  end();
}

void TcpConnection::leave_endpoint() noexcept {
  if (endpoint_ == nullptr) return;
  endpoint_->disconnected();
  of_endpoint.unlink();
  if (endpoint_->retired() && group_.pins == 0) {
    const auto found = group_.by_endpoint.find(endpoint_.get());
    if (found != group_.by_endpoint.end() && found->second.empty()) group_.by_endpoint.erase(found);
  }
  endpoint_.reset();
}

}  // namespace sluice::userspace
