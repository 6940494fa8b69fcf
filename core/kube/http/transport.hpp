// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The interface for requests to the API server; the response body is delivered in chunks as it arrives. Reflectors and
// events use nothing else of the network, so tests can replace it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kube/http/content_type.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

struct Request {
  std::string path;                                        // "/api/v1/services"
  std::vector<std::pair<std::string, std::string>> query;  // not yet encoded
  bool watch = false;                                      // long-running, with long idle times
  std::string method = "GET";                              // or POST, PATCH
  std::string accept = kJsonType;                          // media types of the response
  std::string content_type = {};                           // of the body
  std::string body = {};
  bool again = false;  // a retry that the previous response asked for (Retry-After), or with new credentials

  std::string target() const;  // path and encoded query
};

struct ResponseHead {
  int status = 0;
  std::string content_type;
  std::optional<std::chrono::seconds> retry_after;
};

// Called on the thread that called Transport::send(). An error ends the request.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  virtual lib::Status on_head(const ResponseHead& head) = 0;
  virtual lib::Status on_body(std::string_view bytes) = 0;
  // A timeout for the next chunk of the body, if shorter than the transport's own. Called again after each chunk.
  virtual std::optional<std::chrono::milliseconds> patience() const { return std::nullopt; }
};

class Transport {
 public:
  virtual ~Transport() = default;
  // [any thread] Blocks until the complete body has arrived (ok, whatever the HTTP status), the sink returned an error
  // (that error) or the connection failed: denied because of TLS or credentials, invalid because of local files, else
  // unavailable; os_errno is ETIMEDOUT if the peer is silent or unreachable, ETIME if the sink's patience expired,
  // ECANCELED after stop().
  virtual lib::Status send(const Request& request, ResponseSink& sink) = 0;
  // [any thread] Ends all requests, including later ones.
  virtual void stop() = 0;
  // The server's URL, for messages.
  virtual std::string server() const = 0;
};

}  // namespace sluice::kube
