// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "config.h"

#include "core/plugin/descriptor.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "core/plugin/rejection.hpp"

namespace sluice::plugin {
namespace {

using lib::Status;
using lib::StatusCode;

// The size in the first release: a shorter descriptor lacks required fields.
constexpr std::uint32_t kMinEntrySize = 64;

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

Status check_major(const std::filesystem::path& file, std::uint16_t major) {
  if (major == abi::kMajor) return {};
  const std::string supported = std::to_string(abi::kMajor);
  const std::string found = "version check: it is built for ABI major " + std::to_string(major) +
                            (major == 0 ? " (a draft)" : "") + ", this sluiced (" PACKAGE_VERSION ") speaks " +
                            supported;
  if (major > abi::kMajor) {
    return reject_file(StatusCode::unsupported, file,
                       found + "; install a newer sluiced, or the plugin built for ABI " + supported);
  }
  return reject_file(
      StatusCode::unsupported, file,
      found + "; install the plugin built for ABI " + supported + ", or build it again with the SDK of this sluiced");
}

}  // namespace

Status check_descriptor(const std::filesystem::path& file, const void* head, std::size_t size, std::uint64_t room) {
  abi::PluginEntry entry{};
  static_assert(kDescriptorHead <= sizeof(entry));
  std::memcpy(static_cast<void*>(&entry), head, std::min(size, kDescriptorHead));
  if (entry.magic != abi::kMagic) {
    return reject_file(StatusCode::invalid, file,
                  "magic check: " SLUICE_ABI_SYMBOL " starts with " + hex(entry.magic) + " instead of " +
                      hex(abi::kMagic) + "; define it with SLUICE_PLUGIN_ENTRY of the SDK");
  }
  if (Status status = check_major(file, entry.major); !status.ok()) return status;
  if (entry.struct_size < kMinEntrySize) {
    return reject_file(StatusCode::invalid, file,
                       "size check: its descriptor has " + std::to_string(entry.struct_size) + " bytes, at least " +
                           std::to_string(kMinEntrySize) + " are needed; set struct_size to sizeof(PluginEntry)");
  }
  if (entry.struct_size > room) {
    return reject_file(StatusCode::invalid, file,
                  "size check: its struct_size is " + std::to_string(entry.struct_size) + ", but the section has only " +
                      std::to_string(room) + " bytes; set struct_size to sizeof(PluginEntry)");
  }
  if (const std::uint64_t unknown = entry.needs_host & ~kHostFeatures; unknown != 0) {
    return reject_file(StatusCode::unsupported, file,
                  "needs check: it needs host features " + hex(unknown) +
                      " that this daemon does not have; install a newer daemon");
  }
  return {};
}

}  // namespace sluice::plugin
