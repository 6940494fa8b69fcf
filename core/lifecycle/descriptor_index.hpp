// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What descriptors are called that a service manager keeps. The manager says all names in
// one variable of the environment (LISTEN_FDNAMES), for which the kernel has 128 KiB: a
// process with thousands of descriptors under names that say something could not be started
// again. So it knows them as "s0", "s1", …, and what these are stands in a file in memory
// that it keeps, too. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/fd.hpp"
#include "core/base/ip.hpp"
#include "core/base/status.hpp"

namespace sluice::lifecycle {

// Whose a descriptor is, and what it is called there.
struct KeptName {
  std::string backend;
  base::Family family = base::Family::ipv4;
  std::string name;
  auto operator<=>(const KeptName&) const = default;
};

class DescriptorIndex {
 public:
  // As the manager calls the index itself.
  static constexpr char kName[] = "sluice";
  // The names of all of them fit into the environment, with room to spare for others.
  static constexpr unsigned kSlots = 16000;

  // A new one, empty.
  static base::Result<DescriptorIndex> make();
  // The one of an earlier process.
  explicit DescriptorIndex(base::Fd file) : file_(std::move(file)) {}

  // Written at once, so that a process that is killed leaves the old name or the new one. Not
  // ok, too, when the name is too long for its place.
  base::Status put(unsigned slot, const KeptName& name);
  std::optional<KeptName> at(unsigned slot) const;
  const base::Fd& file() const { return file_; }

  // "s7", and back.
  static std::string slot_name(unsigned slot) { return "s" + std::to_string(slot); }
  static std::optional<unsigned> slot_of(std::string_view name);

 private:
  base::Fd file_;
};

}  // namespace sluice::lifecycle
