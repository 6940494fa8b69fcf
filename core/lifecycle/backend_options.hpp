// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Builds abi::CreateArgs::options. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config/settings.hpp"

namespace sluice::lifecycle {

// The section of the backend overrides the options of kube-proxy's document for its mode. Sorted, each key once.
inline std::vector<std::pair<std::string, std::string>> backend_options(const config::Settings& settings) {
  std::map<std::string, std::string> all = settings.section().options;
  all.insert(settings.mode_options.begin(), settings.mode_options.end());
  return {all.begin(), all.end()};
}

}  // namespace sluice::lifecycle
