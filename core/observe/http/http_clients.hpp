// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The connections of an HTTP server, from accept to close, within its limits. Used only on
// the thread of the io_context, which must be destroyed first.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/status.hpp>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>

#include "core/observe/http/http_limits.hpp"
#include "core/observe/http/http_listener.hpp"

namespace sluice::observe {

class HttpClients {
 public:
  explicit HttpClients(const HttpLimits& limits);
  ~HttpClients();
  HttpClients(const HttpClients&) = delete;
  HttpClients& operator=(const HttpClients&) = delete;

  void begin(boost::asio::ip::tcp::socket socket, const std::shared_ptr<HttpListener>& from);
  // Closes the connections accepted by this listener.
  void close_from(const HttpListener& listener);

 private:
  struct Client;
  using ClientPtr = std::shared_ptr<Client>;
  using Clients = std::list<ClientPtr>;

  void read(const ClientPtr& client, std::chrono::milliseconds limit);
  void answer(const ClientPtr& client);
  void refuse(const ClientPtr& client, boost::beast::http::status status);
  void write(const ClientPtr& client);
  void make_room_for_answers(const Client& latest);
  void forget_answer(Client& client);
  void close(Client& client);

  const HttpLimits limits_;
  Clients clients_;                   // by the time of the last request, oldest first
  std::size_t bytes_in_answers_ = 0;  // unsent, of all clients
};

}  // namespace sluice::observe
