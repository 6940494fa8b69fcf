// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The error of a check that rejects a plugin file. Its message begins with the file.
#pragma once

#include <filesystem>
#include <string>

#include "lib/status.hpp"

namespace sluice::plugin {

inline lib::Status reject_file(lib::StatusCode code, const std::filesystem::path& file, const std::string& reason) {
  return {code, "plugin " + file.string() + ": " + reason};
}

}  // namespace sluice::plugin
