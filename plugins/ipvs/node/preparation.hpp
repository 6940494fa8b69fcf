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
// Of the running kernel.
KernelVersion kernel_version();
// "5.10.0-28-amd64"; zeros for what is no version.
KernelVersion parse_kernel_version(const std::string& release);

struct SysctlValue {
  std::string name;   // "net/ipv4/vs/conntrack"
  std::string value;
  std::string why;    // what happens without it, as the end of a sentence
};
// BEH 6.1, by kernel version; nothing else is touched. Pure. The same for both families: IPVS has one set.
std::vector<SysctlValue> wanted_sysctls(const Settings& settings, KernelVersion kernel);

// Kernel modules this backend needs.
class Modules {
 public:
  // Loads those that are missing (modprobe, where there is one and it is allowed; built-in is fine). Failing at that is
  // silent: what is really missing is said by whoever needs it. Each is asked for once: one that is built in may be
  // seen nowhere.
  void load(const Settings& settings, NodeAccess& node);
  // The kernel lacks something: they are asked for again.
  void forget() { asked_.clear(); }

 private:
  bool is_new(const std::string& name, NodeAccess& node);

  std::set<std::string> asked_;
};

// Writes sysctls, sets the timeouts of IPVS, and loads modules before that. What cannot be done is a warning each,
// never fatal (design: read-only /proc in containers): returned as sentences.
std::vector<std::string> prepare_node(const Settings& settings, KernelVersion version, ServerKernel& kernel,
                                      NodeAccess& node, Modules& modules);
// The same on this node; `lacking`: the kernel did not support something since the last call. Nothing is said twice by
// two calls with the same result, and no module asked for twice, whichever family they are for. Any thread.
std::vector<std::string> prepare_node(const Settings& settings, ServerKernel& kernel, bool lacking);

// What is in `now` and was not there last time.
class SaidOnce {
 public:
  std::vector<std::string> news(const std::vector<std::string>& now);

 private:
  std::set<std::string> said_;
};

}  // namespace sluice::ipvs
