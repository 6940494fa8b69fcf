// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What IPVS needs of the node besides rules: modules and sysctls (BEH 6.1). The apply thread only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "plugins/ipvs/node/node_access.hpp"
#include "plugins/ipvs/servers/server_kernel.hpp"
#include "plugins/ipvs/settings.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::ipvs {

struct KernelVersion {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const KernelVersion&) const = default;
};
// Version of the running kernel.
KernelVersion kernel_version();
// "5.10.0-28-amd64"; zeros if it is not a version.
KernelVersion parse_kernel_version(const std::string& release);

struct SysctlValue {
  std::string name;   // "net/ipv4/vs/conntrack"
  std::string value;
  std::string why;  // the consequence if it is not set, as the end of a sentence
};
// BEH 6.1, by kernel version; no other sysctl is changed. Pure. Both families share the settings of IPVS.
std::vector<SysctlValue> wanted_sysctls(const Settings& settings, KernelVersion kernel);

// Kernel modules this backend needs.
class Modules {
 public:
  // Loads missing modules with modprobe, if possible. Failures are silent: the operation that needs the module
  // reports it. Each module is requested once, because a built-in module may not show in /sys.
  void load(const Settings& settings, NodeAccess& node);
  // The kernel lacks a feature: request all modules again.
  void forget() { requested_.clear(); }

 private:
  bool is_new(const std::string& name, NodeAccess& node);

  std::set<std::string> requested_;
};

// Loads modules, writes sysctls, and sets the timeouts of IPVS. Returns a warning for each failure, which is never
// fatal (design: read-only /proc in containers).
std::vector<std::string> prepare_node(const Settings& settings, KernelVersion version, ServerKernel& kernel,
                                      NodeAccess& node, Modules& modules);
// The same on this node. `unsupported`: the kernel lacked a feature since the last call. Consecutive calls, of either
// family, do not repeat warnings or module requests. Any thread.
std::vector<std::string> prepare_node(const Settings& settings, ServerKernel& kernel, bool unsupported);

// Filters out warnings that the previous call had, too.
class NewWarnings {
 public:
  std::vector<std::string> take_new(const std::vector<std::string>& now);

 private:
  std::set<std::string> last_;
};

}  // namespace sluice::ipvs
