// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Quotes untrusted text for messages.
#pragma once

#include <string>
#include <string_view>

namespace sluice::kube {

// `text` in quotes, truncated, with control characters escaped: safe for a log line.
std::string in_quotes(std::string_view text, std::size_t shown = 80);

}  // namespace sluice::kube
