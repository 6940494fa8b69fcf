// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// "Did you mean …?" for names that do not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

// The candidate with the fewest letters changed, added or dropped; empty when none is
// close enough to be a typing error.
std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& candidates);

// "; did you mean X?" or nothing.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace sluice::app
