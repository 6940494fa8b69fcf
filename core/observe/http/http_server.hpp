// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A small HTTP server for health, metrics and debug pages: no TLS, small request bodies,
// immediate answers. A dedicated thread serves all clients. Their cost is bounded: their
// number, the time for each step, the length of a request.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/observe/http/http_limits.hpp"
#include "core/observe/http/http_message.hpp"
#include "lib/ip.hpp"
#include "lib/status.hpp"

namespace sluice::observe {

class HttpServer {
 public:
  using Handler = HttpHandler;
  // Called when the address cannot be bound, once for each reason, with the sentence that is
  // logged. The server retries. Runs on the thread of start() or of the server; must not stop
  // the server.
  using OnBindFailure = std::function<void(const std::string&)>;

  // `name` is for the log. An unspecified address listens in both families, as in Go.
  HttpServer(std::string name, lib::SocketAddress where, Handler handler, OnBindFailure on_bind_failure,
             HttpLimits limits = {});
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Binds the address or fails; connections wait until start(). Optional: start() listens if needed. `shared`: another
  // server has the port and shares it. REQUIRES: not started.
  lib::Status listen(bool shared = false);
  // Makes the first attempt to listen before it returns. Called at most once.
  void start();
  // [any thread, started] While `on`, listen(true) of another server may bind the same port, for example on 127.0.0.1
  // while this one has 0.0.0.0.
  void share_port(bool on);
  // Closes everything. Not from a handler.
  void stop();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace sluice::observe
