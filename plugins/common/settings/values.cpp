// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/settings/values.hpp"

#include "lib/duration.hpp"

namespace sluice::settings {

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) return std::nullopt;
  const auto duration = lib::parse_duration(text);
  return duration ? std::optional(std::chrono::ceil<std::chrono::milliseconds>(*duration)) : std::nullopt;
}

}  // namespace sluice::settings
