// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads and checks PluginEntry::annotation_prefixes. Stateless; any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lib/status.hpp"
#include "sluice/abi/entry.hpp"

namespace sluice::plugin {

// Sorted, without duplicates. `entry` is a copy with all fields of this minor.
std::vector<std::string> read_annotation_prefixes(const abi::PluginEntry& entry);

// The error names `file` and the prefix.
lib::Status check_annotation_prefixes(const std::filesystem::path& file, const std::vector<std::string>& prefixes);

}  // namespace sluice::plugin
