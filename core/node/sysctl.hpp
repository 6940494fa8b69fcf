// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Kernel settings under /proc/sys. A name is the path below it:
// "net/ipv4/conf/all/route_localnet". Any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.hpp"

namespace sluice::node {

class Sysctl {
 public:
  explicit Sysctl(std::string root = "/proc/sys") : root_(std::move(root)) {}

  // Without the line feed. not_found when the kernel has no such setting.
  base::Result<std::string> read(std::string_view name) const;

  // Writes only when the value differs: in a container that may read but not write,
  // a setting that is right already is no failure.
  base::Status ensure(std::string_view name, std::string_view value) const;

 private:
  std::string path(std::string_view name) const { return root_ + "/" + std::string(name); }

  std::string root_;
};

// net.netfilter.nf_conntrack_tcp_be_liberal is on. A kernel without connection
// tracking loaded has no such setting: off.
base::Result<bool> conntrack_tcp_be_liberal(const Sysctl& sysctl);

}  // namespace sluice::node
