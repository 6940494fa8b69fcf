// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// HTTP over one route: directly to an address, or through a proxy. Only http_session.cpp uses cpprestsdk and catches
// its exceptions. http_failure converts the library's error codes and texts to messages.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/kube/access/proxy.hpp"
#include "core/kube/access/server_url.hpp"
#include "core/kube/http/transport.hpp"
#include "lib/ip.hpp"
#include "lib/status.hpp"

struct ssl_ctx_st;

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

struct HttpMessage {
  std::string method;        // in upper case
  std::string target;        // path and query, encoded
  std::string content_type;  // of the body, if there is one
  std::string body;
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

// Called periodically while waiting for a response. A status that is not ok ends the exchange; `next` is the time until
// the next call.
struct HttpCheck {
  std::chrono::milliseconds first{0};
  std::function<lib::Status(std::chrono::milliseconds& next)> check;
};

// A request in progress.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  // Passes the response to the sink as it arrives, in the caller's thread, until it ends.
  virtual HttpOutcome wait(ResponseSink& sink, const HttpCheck& check) = 0;
  // [any thread] Makes wait() return this status.
  virtual void end(lib::Status reason) = 0;
};

// Keeps idle connections for the next request. Thread-safe.
class HttpSession {
 public:
  // `set_up_tls` is called for each new connection, on any thread.
  HttpSession(HttpRoute route, std::function<lib::Status(ssl_ctx_st*)> set_up_tls);
  ~HttpSession();

  const HttpRoute& route() const;
  // `headers` must not contain line breaks.
  std::shared_ptr<HttpExchange> send(const HttpMessage& message, const HttpHeaders& headers);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::kube
