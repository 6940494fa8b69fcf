// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Names of the descriptors in the file descriptor store of the service manager. The manager
// passes all names in one environment variable (LISTEN_FDNAMES), which the kernel limits to
// 128 KiB; thousands of long names would prevent a restart. Descriptors are therefore stored
// as "s0", "s1", …, and a memfd, stored with them, maps these to names. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/fd.hpp"
#include "lib/ip.hpp"
#include "lib/status.hpp"

namespace sluice::lifecycle {

// The owner of a descriptor and its name there.
struct KeptName {
  std::string backend;
  lib::Family family = lib::Family::ipv4;
  std::string name;
  auto operator<=>(const KeptName&) const = default;
};

class DescriptorIndex {
 public:
  // Name of the index itself in the descriptor store.
  static constexpr char kName[] = "sluice";
  // Small enough for all slot names to fit into LISTEN_FDNAMES.
  static constexpr unsigned kSlots = 16000;

  // A new, empty index.
  static lib::Result<DescriptorIndex> make();
  // The index of an earlier process.
  explicit DescriptorIndex(lib::Fd file) : file_(std::move(file)) {}

  // Atomic: a killed process leaves the old or the new name. Fails for a name too long for its slot, too.
  lib::Status put(unsigned slot, const KeptName& name);
  std::optional<KeptName> at(unsigned slot) const;
  const lib::Fd& file() const { return file_; }

  // "s7", and back.
  static std::string slot_name(unsigned slot) { return "s" + std::to_string(slot); }
  static std::optional<unsigned> slot_of(std::string_view name);

 private:
  lib::Fd file_;
};

}  // namespace sluice::lifecycle
