// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Text output about changes of the running daemon: the result of `sluicectl reload`, and the status lines about reloads
// and backend swaps. No I/O.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice::ctl {

struct ReloadPage {
  std::string text;     // for standard output
  std::string error;    // for standard error: the reload failed or still runs; empty: it is applied
};

// `reply`: to the request {"command": "reload"}; `timeout`: of that request.
ReloadPage reload_page(const nlohmann::json& reply, std::chrono::seconds timeout);

// `status`: the whole status; one line for each existing entry of `reload`, `swap` and `retiring`.
std::string reload_lines(const nlohmann::json& status);

}  // namespace sluice::ctl
