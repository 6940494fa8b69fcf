// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The options that have a flag, and the flags that were retired. Data only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/option.hpp"

namespace sluice::config {

// All options in the order of --help, also those without a flag.
const std::vector<const Option*>& options_in_help_order();
// All flags, in the order of --help.
const std::vector<const Option*>& flag_table();
const Option* find_flag(std::string_view name);
std::string group_title(FlagGroup group);

// A logging flag that Kubernetes removed but many manifests still set.
struct RetiredFlag {
  bool found = false;
  bool boolean = false;  // takes no separate value
};
RetiredFlag find_retired_flag(std::string_view name);

// The supported flag with the closest name, or empty if none is close.
std::string_view nearest_flag(std::string_view name);

}  // namespace sluice::config
