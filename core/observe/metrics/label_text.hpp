// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Labels of metrics as backends write them. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::observe {

inline constexpr std::size_t kMaxLabelTextLength = 1000;  // all labels of one series

// UTF-8 of at most kMaxLabelTextLength bytes.
bool is_label_value(std::string_view text);

// Parses `name="value",…` with \\, \" and \n in values, as in the text format; sorted by
// name. Nothing if malformed, if a name is repeated or begins with __, or if a value is not
// UTF-8. Labels with an empty value are skipped.
std::optional<std::vector<std::pair<std::string, std::string>>> parse_labels(std::string_view text);

}  // namespace sluice::observe
