// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Kernel settings under /proc/sys. A name is the path below it:
// "net/ipv4/conf/all/route_localnet". Any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "lib/status.hpp"

namespace sluice::lib {

class Sysctl {
 public:
  explicit Sysctl(std::string root = "/proc/sys") : root_(std::move(root)) {}

  // Without the trailing newline. not_found if the kernel does not have the setting.
  Result<std::string> read(std::string_view name) const;

  // Writes only if the value differs: in a container with a read-only /proc/sys, a setting that is already correct must
  // not fail.
  Status ensure(std::string_view name, std::string_view value) const;

 private:
  std::string path(std::string_view name) const { return root_ + "/" + std::string(name); }

  std::string root_;
};

}  // namespace sluice::lib
