// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Whether two contents are the same, without keeping either.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/status.hpp"

namespace sluice::base {

// 64 hexadecimal digits.
std::string sha256(std::string_view content);

// Of a regular file, read in pieces; fails with the path and the reason. Anything but a regular file is refused, also
// where opening it would wait.
Result<std::string> file_sha256(const std::string& path);

}  // namespace sluice::base
