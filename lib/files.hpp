// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads and writes small files (configuration, credentials, state) as a whole.
#pragma once

#include <string>
#include <string_view>

#include "lib/status.hpp"

namespace sluice::lib {

// Errors name the path and the reason. Files over `limit` bytes are rejected; with `only_regular`, also symbolic links
// and everything but regular files.
Result<std::string> read_file(const std::string& path, std::size_t limit = 64u << 20, bool only_regular = false);

// Returns how many bytes were written; less than all of them after an error, whose reason is in errno.
std::size_t write_all(int fd, std::string_view content);

// Writes a temporary file in the same directory, then fsync, rename, fsync of the directory: after a crash the file has
// either the old or the new content. Follows no symbolic link.
Status write_file_atomically(const std::string& path, std::string_view content, unsigned mode = 0644);

}  // namespace sluice::lib
