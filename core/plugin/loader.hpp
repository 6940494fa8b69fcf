// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A mapped plugin with an accepted descriptor. Its backends share ownership, so that the code stays mapped while an
// object needs it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/plugin/declared_options.hpp"
#include "core/plugin/descriptor.hpp"
#include "core/plugin/file_checks.hpp"
#include "core/plugin/last_release.hpp"
#include "core/plugin/metric_declarations.hpp"
#include "lib/ip.hpp"
#include "lib/status.hpp"
#include "sluice/abi/entry.hpp"

namespace sluice::plugin {

struct LoadRequest {
  std::filesystem::path file;
  std::string id;  // the required id in the descriptor
  FileRules rules;
  // Map a private copy of the current content. The dynamic linker returns the mapped library for a known path or inode,
  // so without a copy a replaced file would not be loaded.
  bool copy = false;
  bool quiet = false;  // log nothing
};

class Plugin {
 public:
  struct Mapping {
    std::string sha256;
    const void* address = nullptr;  // of the descriptor; null: the plugin is part of this program
    std::string name;               // the name in the dynamic linker
  };
  // `last_release` signals the last release of this plugin; null if the plugin is part of this program.
  Plugin(std::shared_ptr<const void> library, std::filesystem::path file, const abi::PluginEntry& entry,
         Mapping mapping, std::shared_ptr<LastRelease> last_release = nullptr);
  // A plugin that is part of this program.
  Plugin(std::shared_ptr<const void> library, std::filesystem::path file, const abi::PluginEntry& entry)
      : Plugin(std::move(library), std::move(file), entry, Mapping()) {}

  const std::filesystem::path& file() const { return file_; }  // symbolic links followed; not the copy
  // The hexadecimal hash of the loaded file, to recognize that the file on disk was replaced.
  const std::string& sha256() const { return mapping_.sha256; }
  const Mapping& mapping() const { return mapping_; }
  const std::string& id() const { return id_; }
  const std::string& version() const { return version_; }
  const std::string& build() const { return build_; }
  bool has(abi::Feature feature) const { return (entry_.features & feature) != 0; }
  bool supports(lib::Family family) const {
    return has(family == lib::Family::ipv4 ? abi::kFeatureIpv4 : abi::kFeatureIpv6);
  }
  // A copy of the descriptor. Its pointers refer to the library.
  const abi::PluginEntry& entry() const { return entry_; }
  // Null if the plugin declares no options and validates them itself.
  const std::shared_ptr<const DeclaredOptions>& options() const { return options_; }
  // The prefixes of the annotations that the backend asks for: sorted, without duplicates.
  const std::vector<std::string>& annotation_prefixes() const { return annotation_prefixes_; }
  // The declared metrics, copied; may be null.
  const std::shared_ptr<const MetricDeclarations>& metrics() const { return metrics_; }
  const std::shared_ptr<LastRelease>& last_release() const { return last_release_; }

 private:
  std::shared_ptr<const void> library_;
  std::filesystem::path file_;
  Mapping mapping_;
  std::shared_ptr<LastRelease> last_release_;
  abi::PluginEntry entry_;
  std::string id_;
  std::string version_;
  std::string build_;
  std::shared_ptr<const DeclaredOptions> options_;
  std::vector<std::string> annotation_prefixes_;
  std::shared_ptr<const MetricDeclarations> metrics_;
};

// Checks, maps and logs a plugin. An error names the file, the check, the finding and the remedy; nothing stays mapped
// then.
lib::Result<std::shared_ptr<const Plugin>> load_plugin(const LoadRequest& request);

// Releases `plugin`, waits for at most `limit` until no other reference is left, and unmaps its library. The
// destructors of the library's static objects run on this thread. On an error the library stays mapped, which only
// costs memory:
// - unavailable: the timeout expired. The thread that releases the last reference unmaps the library, and logs it.
// - unsupported: the dynamic linker keeps the library.
// Any thread that does not run code of the plugin; one call at a time per plugin.
lib::Status unload_plugin(std::shared_ptr<const Plugin> plugin, std::chrono::milliseconds limit);

}  // namespace sluice::plugin
