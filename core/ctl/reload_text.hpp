// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Changes of the running daemon, for people: what came of `sluicectl reload`, and the lines of the status about the
// configuration and the backend being exchanged. Pure.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice::ctl {

struct ReloadPage {
  std::string text;     // for standard output
  std::string trouble;  // for standard error: it failed, or goes on; empty: it is in force
};

// `answer` is the daemon's to {"command": "reload"}; `timeout` how long it was given.
ReloadPage reload_page(const nlohmann::json& answer, std::chrono::seconds timeout);

// Of the whole status; a line each for what there is of `reload`, `swap` and `retiring`.
std::string reload_lines(const nlohmann::json& status);

}  // namespace sluice::ctl
