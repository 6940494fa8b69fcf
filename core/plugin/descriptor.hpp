// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The numbers at the head of a plugin's descriptor, which stand in its file and in memory: whether this daemon may look
// any further. Only magic and versions are at their place in every major version, so they are looked at first.
// Stateless; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "core/base/status.hpp"
#include "sluice/abi/entry.hpp"

namespace sluice::plugin {

// What this daemon offers to those that ask for it in their descriptor.
constexpr std::uint64_t kHostFeatures = abi::kHostFeatureNone;

// `head`: the first bytes of the descriptor, `size` of them; there are `room` for all of it. Refusals name `file`.
base::Status check_descriptor(const std::filesystem::path& file, const void* head, std::size_t size, std::uint64_t room);

// How many of them check_descriptor() looks at.
constexpr std::size_t kDescriptorHead = offsetof(abi::PluginEntry, id);

}  // namespace sluice::plugin
