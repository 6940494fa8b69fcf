// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What IPVS needs of the node besides rules: modules and sysctls (BEH 6.1). The apply thread only.
#pragma once

#include <string>
#include <vector>

#include "plugins/ipvs/servers/server_kernel.hpp"
#include "plugins/ipvs/settings.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::ipvs {

struct KernelVersion {
  unsigned major = 0;
  unsigned minor = 0;
};
// Of the running kernel.
KernelVersion kernel_version();

struct SysctlValue {
  std::string name;   // "net/ipv4/vs/conntrack"
  std::string value;
  std::string why;    // what does not work without it, as the end of a sentence
};
// BEH 6.1, by kernel version; nothing else is touched. Pure. The same for both families: IPVS has one set.
std::vector<SysctlValue> wanted_sysctls(const Settings& settings, KernelVersion kernel);

// Loads modules that are missing (modprobe, where there is one and it is allowed; built-in is fine), writes sysctls, sets the timeouts of
// IPVS. A sysctl that cannot be written is a warning each, never fatal (design: read-only /proc in containers): returned as
// sentences. Nothing is said twice by two calls with the same result.
std::vector<std::string> prepare_node(const Settings& settings, ServerKernel& kernel);

}  // namespace sluice::ipvs
