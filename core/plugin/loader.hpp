// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A plugin that is mapped and whose descriptor this daemon accepts. Backends made by
// it share ownership, so that code is never unmapped under an object that needs it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/status.hpp"
#include "core/plugin/file_checks.hpp"
#include "sluice/abi/entry.hpp"

namespace sluice::plugin {

struct LoadRequest {
  std::filesystem::path file;
  std::string id;                     // what the descriptor must say
  FileRules rules;
  std::uint64_t needed_features = 0;  // abi::Feature bits the configuration relies on
};

class Plugin {
 public:
  Plugin(std::shared_ptr<const void> library, std::filesystem::path file, const abi::PluginEntry& entry);

  const std::filesystem::path& file() const { return file_; }  // symbolic links followed
  const std::string& id() const { return id_; }
  const std::string& version() const { return version_; }
  const std::string& build() const { return build_; }
  bool has(abi::Feature feature) const { return (entry_.features & feature) != 0; }
  // A copy read by its size; its pointers lead into the library.
  const abi::PluginEntry& entry() const { return entry_; }

 private:
  std::shared_ptr<const void> library_;
  std::filesystem::path file_;
  abi::PluginEntry entry_;
  std::string id_;
  std::string version_;
  std::string build_;
};

// All checks in order, the map between them, one info line at the end. A failure is
// one sentence with file, check, what was found and what to do; nothing stays mapped.
base::Result<std::shared_ptr<const Plugin>> load_plugin(const LoadRequest& request);

// "ipv6, sctp" for abi::Feature bits.
std::string feature_names(std::uint64_t features);

}  // namespace sluice::plugin
