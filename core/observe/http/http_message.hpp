// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An HTTP request and its response as plain values, for handlers.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::observe {

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // before "?", not decoded
  std::string query;   // after "?"
  std::string accept;  // the header's value
  std::string body;    // complete
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers{};
};

// Called on the server's thread, for every request; must be quick.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

}  // namespace sluice::observe
