// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Whole small files: configuration, credentials, state. Not for lists of objects.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.hpp"

namespace sluice::base {

// Fails with the path and the reason; files over `limit` bytes are refused.
Result<std::string> read_file(const std::string& path, std::size_t limit = 64u << 20);

// Write to a temporary neighbour, fsync, rename, fsync the folder: after a crash the
// file is the old or the new one, never a part.
Status write_file_atomically(const std::string& path, std::string_view content, unsigned mode = 0644);

}  // namespace sluice::base
