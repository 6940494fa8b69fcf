// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a backend is given as abi::CreateArgs::options. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config/settings.hpp"

namespace sluice::lifecycle {

// Its own section, and what kube-proxy's document says for its mode where the section does not: every key once, sorted.
inline std::vector<std::pair<std::string, std::string>> backend_options(const config::Settings& settings) {
  std::map<std::string, std::string> all = settings.section().options;
  all.insert(settings.mode_options.begin(), settings.mode_options.end());
  return {all.begin(), all.end()};
}

}  // namespace sluice::lifecycle
