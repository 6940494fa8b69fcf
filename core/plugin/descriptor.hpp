// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Checks the numbers at the head of a plugin's descriptor, in its file or in memory, before the daemon uses the rest.
// Only magic and versions have the same place in every major version, so they are checked first. Stateless; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "lib/status.hpp"
#include "sluice/abi/entry.hpp"

namespace sluice::plugin {

// The host features that this daemon offers to plugins that require them in their descriptor.
constexpr std::uint64_t kHostFeatures = abi::kHostFeatureNone;

// `head`: the first `size` bytes of the descriptor, which may have at most `room` bytes. Errors name `file`.
lib::Status check_descriptor(const std::filesystem::path& file, const void* head, std::size_t size, std::uint64_t room);

// The number of bytes that check_descriptor() reads.
constexpr std::size_t kDescriptorHead = offsetof(abi::PluginEntry, id);

}  // namespace sluice::plugin
