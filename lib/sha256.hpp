// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// SHA-256, to compare contents without keeping them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/status.hpp"

namespace sluice::lib {

std::array<std::uint8_t, 32> sha256_bytes(std::string_view content);
// 64 hexadecimal digits.
std::string sha256(std::string_view content);

// The hash of a regular file, read in chunks. Errors name the path and the reason. Any other file type is rejected
// without blocking.
Result<std::string> file_sha256(const std::string& path);

}  // namespace sluice::lib
