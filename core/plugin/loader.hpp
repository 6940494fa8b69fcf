// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A plugin that is mapped and whose descriptor this daemon accepts. Backends made by
// it share ownership, so that code is never unmapped under an object that needs it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "core/base/status.hpp"
#include "core/plugin/descriptor.hpp"
#include "core/plugin/file_checks.hpp"
#include "core/plugin/last_release.hpp"
#include "sluice/abi/entry.hpp"

namespace sluice::plugin {

struct LoadRequest {
  std::filesystem::path file;
  std::string id;                     // what the descriptor must say
  FileRules rules;
  // Map a private copy, as it is in memory now. The dynamic linker takes two paths of one file, and a path that is
  // mapped, for the library it has: without a copy a file that was replaced would stay what it was.
  bool copy = false;
};

class Plugin {
 public:
  // What was mapped.
  struct Mapping {
    std::string sha256;
    const void* address = nullptr;  // of its descriptor; null: it is part of this program
    std::string name;               // as the dynamic linker knows it
  };
  // `last_release`: of the references to this, see there; null if it is part of this program.
  Plugin(std::shared_ptr<const void> library, std::filesystem::path file, const abi::PluginEntry& entry,
         Mapping mapping, std::shared_ptr<LastRelease> last_release = nullptr);
  // One that is part of this program.
  Plugin(std::shared_ptr<const void> library, std::filesystem::path file, const abi::PluginEntry& entry)
      : Plugin(std::move(library), std::move(file), entry, Mapping()) {}

  const std::filesystem::path& file() const { return file_; }  // symbolic links followed; not the copy
  // Of what was read from the file, in hexadecimal: whether the file on disk is still this plugin.
  const std::string& sha256() const { return mapping_.sha256; }
  const Mapping& mapping() const { return mapping_; }
  const std::string& id() const { return id_; }
  const std::string& version() const { return version_; }
  const std::string& build() const { return build_; }
  bool has(abi::Feature feature) const { return (entry_.features & feature) != 0; }
  // A copy read by its size; its pointers lead into the library.
  const abi::PluginEntry& entry() const { return entry_; }
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
};

// All checks in order, the map between them, one info line at the end. A failure is
// one sentence with file, check, what was found and what to do; nothing stays mapped.
base::Result<std::shared_ptr<const Plugin>> load_plugin(const LoadRequest& request);

// Releases `plugin` and unmaps its library when no other reference is left, which it waits for, `limit` at most. The
// destructors of the library's static objects run on this thread. Not ok: the library is still mapped, and why. Nothing
// is wrong with the daemon then, but for the memory.
// - unavailable: the limit has expired. The thread that releases the last reference unmaps the library, and logs it.
// - unsupported: the dynamic linker keeps the library.
// Any thread that runs no code of the plugin; one at a time for each plugin.
base::Status unload_plugin(std::shared_ptr<const Plugin> plugin, std::chrono::milliseconds limit);

}  // namespace sluice::plugin
