// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// HTTP over one route: directly to an address, or through a proxy. Only http_session.cpp uses cpprestsdk and catches
// its exceptions. http_failure converts the library's error codes and texts to messages.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/proxy.hpp"
#include "core/kube/access/server_url.hpp"
#include "core/kube/access/tls_files.hpp"
#include "core/kube/http/tls_context.hpp"
#include "core/kube/http/transport.hpp"
#include "lib/ip.hpp"
#include "lib/status.hpp"

namespace web::http::client {
class http_client;
}

namespace sluice::kube {

struct HttpRoute {
  ServerUrl server;
  // The address of the server or proxy. The library must never resolve a name, because that cannot be interrupted.
  lib::IpAddress address;
  std::optional<Proxy> proxy;
  std::string tls_name;           // the name that the server certificate must have
  bool verify = true;             // verify the server certificate
  bool compress = true;           // request compressed bodies
  std::chrono::seconds idle{60};  // idle timeout of the connection
};

// A header may occur several times.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpFailure {
  int code = 0;                     // the library mixes several error categories; only the number is reliable
  std::string text;                 // the library's error text
  std::chrono::seconds silence{0};  // since the last byte, or since the request
};

struct HttpOutcome {
  lib::Status ended;                  // not ok: ended by the sink or by end()
  std::optional<HttpFailure> failure;  // of the connection
};

// A request in progress.
class HttpExchange {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~HttpExchange() = default;
  // Passes the response to the sink as it arrives, in the caller's thread. Returns how the request ended, or nothing
  // at `until` while it is in progress; a further call continues.
  virtual std::optional<HttpOutcome> wait(ResponseSink& sink, Clock::time_point until) = 0;
  // [any thread] Makes wait() return this status.
  virtual void end(lib::Status reason) = 0;
};

// Connections over one route with the same certificates. Keeps idle ones for the next request. Thread-safe.
class HttpSession {
 public:
  // `config`: the CA and the names for messages about it.
  HttpSession(HttpRoute route, const ConnectionConfig& config, TlsMaterial material);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  const HttpRoute& route() const { return route_; }
  const TlsMaterial& material() const { return material_; }
  const VerifyReport& report() const { return *report_; }
  // `headers` must not contain line breaks.
  std::shared_ptr<HttpExchange> send(const Request& request, const HttpHeaders& headers);

 private:
  const HttpRoute route_;
  const TlsMaterial material_;
  const std::shared_ptr<VerifyReport> report_ = std::make_shared<VerifyReport>();
  std::unique_ptr<web::http::client::http_client> client_;
};

}  // namespace sluice::kube
