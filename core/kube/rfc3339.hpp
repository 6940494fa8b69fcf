// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Times as Kubernetes writes them: "2026-11-21T00:11:20.123456789Z".
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace sluice::kube {

// Absent when the text is not such a time.
std::optional<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view text);

}  // namespace sluice::kube
