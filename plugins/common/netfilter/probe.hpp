// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Probes the kernel features that a backend's rules need, with one rule of each kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/kernel.hpp"
#include "plugins/common/netfilter/restore.hpp"

namespace sluice::netfilter {

struct Need {
  std::string_view option;  // of the kernel configuration
  Table table;
  std::string rule;
};

// Throws sdk::Failure that names the missing options. Leaves nothing in the kernel.
void probe_needs(Kernel& kernel, const std::vector<Need>& needs);

}  // namespace sluice::netfilter
