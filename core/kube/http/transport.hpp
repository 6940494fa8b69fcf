// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One request to the API server, the body of its answer told in pieces while it arrives.
// Reflectors and events know nothing else of the network, so a script can stand in for it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.hpp"

namespace sluice::kube {

struct Request {
  std::string path;                                        // "/api/v1/services"
  std::vector<std::pair<std::string, std::string>> query;  // not yet encoded
  bool watch = false;                                      // answered for minutes, with long silences
  std::string method = "GET";                              // or POST, PATCH
  std::string content_type = {};                           // of the body
  std::string body = {};
  bool again = false;  // it was sent before, and its answer asked for another try

  std::string target() const;  // path and encoded query
};

struct ResponseHead {
  int status = 0;
  std::string content_type;
  std::optional<std::chrono::seconds> retry_after;
};

// Called by the thread that called Transport::send(). A failure ends the request.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  virtual base::Status on_head(const ResponseHead& head) = 0;
  virtual base::Status on_body(std::string_view bytes) = 0;
  // How long the next piece of the body may take, where that is less than the transport
  // would wait; asked anew after each piece.
  virtual std::optional<std::chrono::milliseconds> patience() const { return std::nullopt; }
  // The transport sends the request again by itself. The answer before had this HTTP status (0: none came) and is not
  // delivered.
  virtual void on_repeat(int /*status*/) {}
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Blocks until the body has been received whole (ok, whatever the HTTP status), the sink
  // refused something (its status) or the connection failed: denied when TLS or the
  // credentials are the reason, invalid when files of ours are, else unavailable; with
  // os_errno ETIMEDOUT for a peer that is silent or cannot be heard any more, ETIME when
  // the sink's patience was over, ECANCELED after stop(). Several threads may wait in it.
  virtual base::Status send(const Request& request, ResponseSink& sink) = 0;
  // Ends all requests, also later ones; any thread.
  virtual void stop() = 0;
  // The server's URL, for people.
  virtual std::string server() const = 0;
};

}  // namespace sluice::kube
