// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/rfc3339.hpp"

#include <cstdio>
#include <ctime>

namespace sluice::lib {

std::string rfc3339(std::chrono::system_clock::time_point at) {
  const auto since = std::chrono::floor<std::chrono::milliseconds>(at).time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const std::time_t time = static_cast<std::time_t>(seconds.count());
  std::tm parts{};
  gmtime_r(&time, &parts);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  char out[48];
  std::snprintf(out, sizeof out, "%s.%03dZ", date, static_cast<int>((since - seconds).count()));
  return out;
}

}  // namespace sluice::lib
