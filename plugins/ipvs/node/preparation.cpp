// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/node/preparation.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "lib/mutex.hpp"
#include "lib/netlink/error.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace {

constexpr KernelVersion kKnowsReuseMode{4, 1};
constexpr KernelVersion kReusesWithoutDelay{5, 9};
constexpr const char* kReuseMode = "net/ipv4/vs/conn_reuse_mode";

// As sysctl(8) prints it.
std::string dotted(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

std::string failure_text(const SysctlValue& wanted, int error) {
  std::string out = "cannot set " + dotted(wanted.name) + " to " + wanted.value + ": ";
  if (error == ENOENT) {
    out += "there is no such setting (is the module ip_vs loaded?)";
  } else {
    out += lib::netlink::error_text(error);
  }
  return out + ", so " + wanted.why + "; set it on the node: sysctl -w " + dotted(wanted.name) + "=" + wanted.value;
}

// docs/decisions/0025-ipvs-port-reuse.md
void check_reuse(KernelVersion version, NodeAccess& node, std::vector<std::string>& into) {
  const auto mode = node.sysctl(kReuseMode);
  if (version < kKnowsReuseMode) {
    into.push_back("kernel " + std::to_string(version.major) + "." + std::to_string(version.minor) +
                   " has no net.ipv4.vs.conn_reuse_mode, which 4.1 and later have: a client that uses a port again may "
                   "wait a second "
                   "for its connection");
  } else if (version >= kReusesWithoutDelay && mode == "0") {
    into.push_back(
        "net.ipv4.vs.conn_reuse_mode is 0: a client that uses a port again always gets the endpoint it had; kernels "
        "from 5.9 on need "
        "it no more: sysctl -w net.ipv4.vs.conn_reuse_mode=1");
  }
}

void set_timeouts(const Settings& settings, ServerKernel& kernel, std::vector<std::string>& into) {
  IpvsTimeouts wanted;
  wanted.tcp = static_cast<std::uint32_t>(settings.tcp_timeout.count());
  wanted.tcp_fin = static_cast<std::uint32_t>(settings.tcp_fin_timeout.count());
  wanted.udp = static_cast<std::uint32_t>(settings.udp_timeout.count());
  if (wanted.tcp == 0 && wanted.tcp_fin == 0 && wanted.udp == 0) return;
  try {
    // 0: the kernel keeps its value.
    kernel.set_timeouts(wanted);
  } catch (const sdk::Failure& failure) {
    into.push_back(std::string("cannot set the timeouts of IPVS, which stay as they are: ") + failure.what());
  }
}

}  // namespace

KernelVersion parse_kernel_version(const std::string& release) {
  KernelVersion out;
  if (std::sscanf(release.c_str(), "%u.%u", &out.major, &out.minor) != 2) return {};
  return out;
}

KernelVersion kernel_version() {
  utsname name{};
  return uname(&name) == 0 ? parse_kernel_version(name.release) : KernelVersion{};
}

std::vector<SysctlValue> wanted_sysctls(const Settings& settings, KernelVersion kernel) {
  std::vector<SysctlValue> out{
      {"net/ipv4/vs/conntrack", "1",
       "connections to Services are not masqueraded, and rules for established ones miss them"},
      {"net/ipv4/vs/expire_nodest_conn", "1", "connections to endpoints that are gone hang instead of ending"},
      {"net/ipv4/vs/expire_quiescent_template", "1",
       "clients with session affinity keep being sent to endpoints that get no new connections any more"},
      {"net/ipv4/ip_forward", "1", "pods on other nodes are not reached through Services"},
  };
  if (kernel >= kKnowsReuseMode && kernel < kReusesWithoutDelay) {
    out.insert(out.begin() + 1,
               {kReuseMode, "0", "a client that uses a port again may wait a second for its connection"});
  }
  if (settings.strict_arp) {
    out.push_back({"net/ipv4/conf/all/arp_ignore", "1", "this node answers ARP requests for service addresses"});
    out.push_back({"net/ipv4/conf/all/arp_announce", "2", "this node announces service addresses by ARP"});
  }
  return out;
}

bool Modules::is_new(const std::string& name, NodeAccess& node) {
  if (!node.has_module(name)) return requested_.insert(name).second;
  requested_.erase(name);  // it may be unloaded later
  return false;
}

void Modules::load(const Settings& settings, NodeAccess& node) {
  std::vector<std::string> missing;
  for (const std::string& name : {std::string("ip_vs"), "ip_vs_" + settings.scheduler, std::string("nf_conntrack"),
                                  std::string("ip_set"), std::string("xt_set"), std::string("xt_ipvs")}) {
    if (is_new(name, node)) missing.push_back(name);
  }
  if (!missing.empty()) {
    // Quietly, and continuing after a missing module.
    missing.insert(missing.begin(), "-qa");
    (void)node.modprobe(missing);
  }
  // Without the parameter the module would create a link dummy0.
  if (is_new("dummy", node)) (void)node.modprobe({"-q", "dummy", "numdummies=0"});
}

std::vector<std::string> prepare_node(const Settings& settings, KernelVersion version, ServerKernel& kernel,
                                      NodeAccess& node, Modules& modules) {
  modules.load(settings, node);
  std::vector<std::string> out;
  for (const SysctlValue& wanted : wanted_sysctls(settings, version)) {
    if (const int error = node.set_sysctl(wanted.name, wanted.value); error != 0)
      out.push_back(failure_text(wanted, error));
  }
  check_reuse(version, node, out);
  set_timeouts(settings, kernel, out);
  return out;
}

std::vector<std::string> prepare_node(const Settings& settings, ServerKernel& kernel, bool unsupported) {
  static lib::Mutex mutex;
  static NewWarnings warnings SLUICE_GUARDED_BY(mutex);  // shared by both families, like the settings
  static Modules modules SLUICE_GUARDED_BY(mutex);
  const lib::Lock lock(mutex);
  RealNode node;
  if (unsupported) modules.forget();
  return warnings.take_new(prepare_node(settings, kernel_version(), kernel, node, modules));
}

std::vector<std::string> NewWarnings::take_new(const std::vector<std::string>& now) {
  std::vector<std::string> out;
  for (const std::string& sentence : now) {
    if (!last_.contains(sentence)) out.push_back(sentence);
  }
  last_ = {now.begin(), now.end()};
  return out;
}

}  // namespace sluice::ipvs
