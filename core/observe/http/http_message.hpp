// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A request and its answer as plain values, for those who answer.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::observe {

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // before "?", as it was sent
  std::string query;   // behind it
  std::string accept;  // the header's value
  std::string body;    // all of it, within the limits
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
