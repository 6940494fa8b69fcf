// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/http/http_listener.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <cerrno>
#include <chrono>
#include <utility>

#include "lib/fd.hpp"

namespace sluice::observe {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

constexpr int kBacklog = 512;
constexpr int kAcceptsAtOnce = 32;  // before other handlers run
constexpr std::chrono::seconds kAcceptPause{1};

error_code last_error() { return {errno, boost::system::system_category()}; }

tcp::endpoint endpoint_of(const lib::IpAddress& address, std::uint16_t port) {
  if (address.family() == lib::Family::ipv4) {
    net::ip::address_v4::bytes_type bytes;
    std::copy_n(address.bytes().begin(), bytes.size(), bytes.begin());
    return {net::ip::address_v4(bytes), port};
  }
  return {net::ip::address_v6(address.bytes()), port};
}

}  // namespace

HttpListener::HttpListener(net::io_context& io, HttpHandler handler)
    : handler_(std::move(handler)), io_(io), acceptor_(io), pause_(io) {}

// Creates the socket itself, because sockets of Asio lack close-on-exec, and a child process
// would keep the port open.
error_code HttpListener::open(const lib::IpAddress& address, std::uint16_t port, bool shared) {
  const tcp::endpoint where = endpoint_of(address, port);
  protocol_ = where.protocol();
  lib::Fd fd(::socket(protocol_.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return last_error();
  error_code error;
  acceptor_.assign(protocol_, fd.get(), error);
  if (error) return error;
  static_cast<void>(fd.release());
  acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && protocol_ == tcp::v6()) acceptor_.set_option(net::ip::v6_only(true), error);
  if (shared) share(true);
  if (!error) acceptor_.bind(where, error);
  if (!error) acceptor_.listen(kBacklog, error);
  return error;
}

// The kernel checks SO_REUSEPORT of both sockets in bind(), so an error here shows there.
void HttpListener::share(bool on) {
  const int value = on ? 1 : 0;
  ::setsockopt(acceptor_.native_handle(), SOL_SOCKET, SO_REUSEPORT, &value, sizeof value);
}

void HttpListener::accept(const OnClient& on_client) {
  acceptor_.async_wait(tcp::acceptor::wait_read, [self = shared_from_this(), &on_client](const error_code& error) {
    if (self->closed_) return;
    const bool go_on = !error && self->accept_clients(on_client);
    if (self->closed_) return;
    if (go_on) {
      self->accept(on_client);
    } else {
      self->pause(on_client);
    }
  });
}

bool HttpListener::accept_clients(const OnClient& on_client) {
  for (int i = 0; i < kAcceptsAtOnce && !closed_; ++i) {
    lib::Fd fd(::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return false;
      continue;  // the client has disconnected
    }
    tcp::socket socket(io_);
    error_code error;
    socket.assign(protocol_, fd.get(), error);
    if (error) return false;
    static_cast<void>(fd.release());
    on_client(std::move(socket), shared_from_this());
  }
  return true;
}

void HttpListener::pause(const OnClient& on_client) {
  pause_.expires_after(kAcceptPause);
  pause_.async_wait([self = shared_from_this(), &on_client](const error_code&) {
    if (!self->closed_) self->accept(on_client);
  });
}

void HttpListener::close() {
  closed_ = true;
  // A process that runs no program yet has a copy of the descriptor, with which the socket would still listen.
  ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
}

const char* advice_for_listening(const error_code& error) {
  if (error == net::error::access_denied) return "a port below 1024 needs CAP_NET_BIND_SERVICE";
  if (error == net::error::no_descriptors) return "raise the limit of open files (LimitNOFILE)";
  return nullptr;
}

}  // namespace sluice::observe
