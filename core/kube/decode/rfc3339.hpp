// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Times in the format of Kubernetes: "2026-11-21T00:11:20.123456789Z".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::kube {

// Absent if the text is not such a time.
std::optional<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view text);

// In UTC, with nanoseconds if they are not zero.
std::string print_rfc3339(std::chrono::system_clock::time_point at);

}  // namespace sluice::kube
