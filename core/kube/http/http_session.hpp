// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// HTTP over one route: straight to an address, or through a proxy. http_session.cpp is
// the one file that knows cpprestsdk: its exceptions end there. What goes wrong comes
// out as the library's numbers and words; http_failure makes sentences of them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ip.hpp"
#include "core/base/status.hpp"
#include "core/kube/access/proxy.hpp"
#include "core/kube/access/server_url.hpp"
#include "core/kube/http/transport.hpp"

struct ssl_ctx_st;

namespace sluice::kube {

struct HttpRoute {
  ServerUrl server;
  // What is connected to, the server or the proxy: the library must never look up a
  // name, it cannot be interrupted in that.
  base::IpAddress address;
  std::optional<Proxy> proxy;
  std::string tls_name;           // the name the server's certificate must have
  bool verify = true;             // the server's certificate
  bool compress = true;           // ask for compressed bodies
  std::chrono::seconds idle{60};  // the time without a byte after which it counts as dead
};

struct HttpMessage {
  std::string method;  // in capitals
  std::string target;  // a path with its query, encoded
  std::string content_type;  // of the body, where there is one
  std::string body;
};

// A header may occur several times.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpFailure {
  int code = 0;      // of several categories that the library mixes up; the number alone counts
  std::string text;  // the library's words
  std::chrono::seconds silence{0};  // since the last byte, or since the request
};

struct HttpOutcome {
  base::Status ended;                  // by the sink or by end()
  std::optional<HttpFailure> failure;  // of the connection
};

// Looked at now and then while an answer is awaited: not ok ends the exchange. The
// number is the time until the next look.
struct HttpCheck {
  std::chrono::milliseconds first{0};
  std::function<base::Status(std::chrono::milliseconds& next)> look;
};

// One request under way.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  // Tells the sink what arrives until the end, in the caller's thread.
  virtual HttpOutcome wait(ResponseSink& sink, const HttpCheck& check) = 0;
  // wait() then returns this status; any thread.
  virtual void end(base::Status reason) = 0;
};

// Keeps idle connections for the next request. Any thread.
class HttpSession {
 public:
  // `set_up_tls` is called for each new connection, in any thread.
  HttpSession(HttpRoute route, std::function<base::Status(ssl_ctx_st*)> set_up_tls);
  ~HttpSession();

  const HttpRoute& route() const;
  // `headers` hold no line breaks.
  std::shared_ptr<HttpExchange> send(const HttpMessage& message, const HttpHeaders& headers);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::kube
