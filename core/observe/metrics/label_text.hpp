// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Names and labels of metrics as backends write them. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::observe {

inline constexpr std::size_t kLongestMetricName = 200;
inline constexpr std::size_t kLongestLabelText = 1000;  // all labels of one series

// [a-zA-Z_:][a-zA-Z0-9_:]*, not endless.
bool is_metric_name(std::string_view name);

// `name="value",…` with \\, \" and \n in values, as the text format has it; sorted by name.
// Nothing when it is not that, a name is there twice or begins with __, or a value is no
// UTF-8. An empty value is no label.
std::optional<std::vector<std::pair<std::string, std::string>>> parse_labels(std::string_view text);

}  // namespace sluice::observe
