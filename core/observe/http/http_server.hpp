// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A small HTTP server for what the daemon tells about itself: answers that are made at
// once, no TLS, no bodies of interest. One thread of its own serves all clients. What
// they can cost is bounded: their number, the time for each step, the length of a request.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/ip.hpp"
#include "core/base/status.hpp"
#include "core/observe/http/http_limits.hpp"
#include "core/observe/http/http_message.hpp"

namespace sluice::observe {

class HttpServer {
 public:
  using Handler = HttpHandler;
  // Called with the sentence that is logged, once for each reason: the address could not
  // be bound. It is tried again. On the thread that calls start() or on the server's;
  // must not stop the server.
  using OnBindFailure = std::function<void(const std::string&)>;

  // `name` is for the log. An unspecified address listens in both families, as Go does it.
  HttpServer(std::string name, base::SocketAddress where, Handler handler, OnBindFailure on_bind_failure,
             HttpLimits limits = {});
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Has the address, or fails with the sentence; connections wait until start(). Where it is not called, or fails,
  // start() listens. `shared`: beside a server that shares its port. REQUIRES: not started.
  base::Status listen(bool shared = false);
  // Has tried to listen once when it returns. At most once.
  void start();
  // [any thread, started] While `on`, listen(true) of another server may take a port of this one, as of 0.0.0.0 for
  // 127.0.0.1.
  void share_port(bool on);
  // Closes everything. Not from a handler.
  void stop();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace sluice::observe
