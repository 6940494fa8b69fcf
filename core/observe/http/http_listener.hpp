// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A listening TCP socket of the HTTP servers. Used on the thread of its io_context only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/observe/http/http_message.hpp"
#include "lib/ip.hpp"

namespace sluice::observe {

class HttpListener : public std::enable_shared_from_this<HttpListener> {
 public:
  using OnClient = std::function<void(boost::asio::ip::tcp::socket, const std::shared_ptr<HttpListener>&)>;

  // `handler` answers the requests of clients of this listener.
  HttpListener(boost::asio::io_context& io, HttpHandler handler);

  // `shared`: another listener has the same port and shares it.
  boost::system::error_code open(const lib::IpAddress& address, std::uint16_t port, bool shared = false);
  // Whether another listener of this user may bind the same port. REQUIRES: open.
  void share(bool on);
  // Passes new clients to `on_client` until close(). REQUIRES: open; owned by a shared_ptr; `on_client` outlives
  // close().
  void accept(const OnClient& on_client);
  void close();

  bool closed() const { return closed_; }
  const HttpHandler& handler() const { return handler_; }

 private:
  // False: retry later.
  bool accept_clients(const OnClient& on_client);
  void pause(const OnClient& on_client);

  const HttpHandler handler_;
  boost::asio::io_context& io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp protocol_ = boost::asio::ip::tcp::v4();
  boost::asio::steady_timer pause_;  // after descriptors ran out
  bool closed_ = false;
};

// The remedy for a listen error, as part of a sentence; null if none is known.
const char* advice_for_listening(const boost::system::error_code& error);

}  // namespace sluice::observe
