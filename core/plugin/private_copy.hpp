// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A copy of a plugin file that nobody else knows: what is checked is what is mapped, and the dynamic linker has never
// seen its path. In memory (memfd_create(2)): no file system has to be writable, or to allow programs, and nothing is
// left behind. Stateless; any thread.
#pragma once

#include <filesystem>

#include "core/base/fd.hpp"
#include "core/base/status.hpp"

namespace sluice::plugin {

// Afterwards nobody can change the memory (memfd_create(2)). 0, or an errno of F_ADD_SEALS (fcntl(2)). The kernel refuses
// with EBUSY while it holds one of the pages itself, to move it or to put it on a list: for two seconds it is asked again.
int seal_against_changes(int memory);

class PrivateCopy {
 public:
  static base::Result<PrivateCopy> make(const std::filesystem::path& file);

  // For this process, as long as this lives; what is mapped of it lives on. No other copy has had it.
  const std::filesystem::path& path() const { return path_; }

 private:
  PrivateCopy(base::Fd memory, std::filesystem::path path) : memory_(std::move(memory)), path_(std::move(path)) {}

  base::Fd memory_;  // sealed: its content stays
  std::filesystem::path path_;
};

}  // namespace sluice::plugin
