// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A private copy of a plugin file, so that the checked content is the mapped content, under a path that is new to the
// dynamic linker. The copy is in memory (memfd_create(2)): it needs no file system that is writable and allows
// programs, and it leaves no file behind. Stateless; any thread.
#pragma once

#include <filesystem>

#include "lib/fd.hpp"
#include "lib/status.hpp"

namespace sluice::plugin {

// Seals the memory against changes (memfd_create(2)). Returns 0, or an errno of F_ADD_SEALS (fcntl(2)). Retries for two
// seconds on EBUSY, which occurs while the kernel holds a reference to a page, for example to migrate it.
int seal_against_changes(int memory);

class PrivateCopy {
 public:
  static lib::Result<PrivateCopy> make(const std::filesystem::path& file);

  // Valid in this process during the lifetime of this object; mappings stay valid afterwards. Never reused.
  const std::filesystem::path& path() const { return path_; }

 private:
  PrivateCopy(lib::Fd memory, std::filesystem::path path) : memory_(std::move(memory)), path_(std::move(path)) {}

  lib::Fd memory_;  // sealed: its content stays
  std::filesystem::path path_;
};

}  // namespace sluice::plugin
