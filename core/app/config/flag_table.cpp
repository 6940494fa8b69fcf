// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/config/flag_table.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/app/config/nearest.hpp"

namespace sluice::app {
namespace {

using enum FlagKind;
using enum FlagGroup;

constexpr std::array kFlags = std::to_array<FlagSpec>({
    {"config", text, general, true, "FILE",
     "Configuration file (KubeProxyConfiguration, optionally followed by SluiceConfiguration). Flags that the file "
     "covers are ignored then."},
    {"check", boolean, general, true, "",
     "Check the configuration, report everything that is wrong with it, and exit."},
    {"cleanup", boolean, general, true, "",
     "Have every installed backend remove all it ever programmed on this node, and exit."},
    {"state-dir", text, general, true, "DIR", "Folder for the control socket and for what must survive a restart."},
    {"version", text, general, true, "[=raw]", "Print the version, with =raw its number alone, and exit."},
    {"help", boolean, general, true, "", "Print this text and exit."},

    {"kubeconfig", text, source, false, "FILE", "Credentials and address of the API server."},
    {"master", text, source, true, "URL", "Address of the API server; overrides the one in the kubeconfig."},
    {"manifests", text, source, true, "DIR|FILE",
     "Read Services, EndpointSlices and Nodes from disk instead of an API server."},
    {"replay", text, source, true, "FILE",
     "Tell again what a recording holds, instead of asking an API server; the node is the one it was made on, unless "
     "--hostname-override says otherwise."},
    {"replay-speed", decimal, source, true, "FACTOR",
     "How much faster than it was recorded; 0 does not wait at all (default 1)."},
    {"record", text, source, true, "FILE",
     "Write down what the source tells, to be played back with --replay; an earlier recording there becomes FILE.old."},
    {"kube-api-qps", decimal, source, false, "NUMBER",
     "Requests a second to the API server; negative: as many as there are (default 5)."},
    {"kube-api-burst", number, source, false, "NUMBER", "Requests that may go at once after a pause (default 10)."},
    {"kube-api-content-type", text, source, false, "TYPE",
     "Accepted without effect: the API server is asked for JSON."},
    {"config-sync-period", duration, source, false, "DURATION",
     "Accepted without effect: there is no cache that would have to be gone through again (default 15m)."},

    {"hostname-override", text, node, true, "NAME", "Name of this node in the cluster, instead of the host name."},
    {"bind-address", text, node, false, "IP",
     "Overrides the node's IP address and primary family; 0.0.0.0 or :: leave both to the Node object (default "
     "0.0.0.0)."},
    {"nodeport-addresses", list, node, false, "CIDR,...",
     "Addresses that serve node ports: CIDRs, or the word primary for the node's own; all when empty. May be "
     "repeated."},

    {"proxy-mode", text, backend, false, "ID", "Backend to use: the id of any installed plugin (default iptables)."},
    {"plugin-dir", repeated, backend, true, "DIR",
     "Folder to look for backends in, instead of the installed one. May be repeated; the first that has the backend "
     "wins."},
    {"iptables-localhost-nodeports", boolean, backend, false, "",
     "Serve node ports on 127.0.0.1 too, IPv4 only (default true)."},

    {"cluster-cidr", text, local_traffic, false, "CIDR[,CIDR]",
     "Address range of pods, one or one a family. Traffic to a cluster IP from elsewhere is masqueraded."},
    {"detect-local-mode", text, local_traffic, false, "MODE",
     "How traffic of local pods is recognised: ClusterCIDR (default), NodeCIDR, BridgeInterface or "
     "InterfaceNamePrefix."},
    {"pod-bridge-interface", text, local_traffic, false, "NAME", "The bridge of local pods, for BridgeInterface."},
    {"pod-interface-name-prefix", text, local_traffic, false, "PREFIX",
     "What the names of local pods' interfaces begin with, for InterfaceNamePrefix."},
    {"masquerade-all", boolean, local_traffic, false, "", "Masquerade all traffic to cluster IPs."},
    {"iptables-masquerade-bit", number, local_traffic, false, "0-31",
     "Bit of the packet mark that asks for masquerading (default 14)."},

    {"iptables-sync-period", duration, pace, false, "DURATION",
     "How often the kernel is compared with what it should hold (default 30s)."},
    {"iptables-min-sync-period", duration, pace, false, "DURATION",
     "Least time between two writes to the kernel; 0 writes every change at once (default 1s)."},

    {"v", number, logging, true, "LEVEL", "Log verbosity; 4 and more shows debug lines (default 0)."},
    {"logging-format", text, logging, true, "text|json", "Form of log lines (default text)."},
});

struct ForeignName {
  std::string_view name;
  bool boolean = false;
};

constexpr std::array kKnown = std::to_array<ForeignName>({
    {"bind-address-hard-fail", true},
    {"boot-id-file"},
    {"conntrack-max-per-core"},
    {"conntrack-min"},
    {"conntrack-tcp-be-liberal", true},
    {"conntrack-tcp-timeout-close-wait"},
    {"conntrack-tcp-timeout-established"},
    {"conntrack-udp-timeout"},
    {"conntrack-udp-timeout-stream"},
    {"feature-gates"},
    {"healthz-bind-address"},
    {"healthz-port"},
    {"init-only", true},
    {"ipvs-exclude-cidrs"},
    {"ipvs-min-sync-period"},
    {"ipvs-scheduler"},
    {"ipvs-strict-arp", true},
    {"ipvs-sync-period"},
    {"ipvs-tcp-timeout"},
    {"ipvs-tcpfin-timeout"},
    {"ipvs-udp-timeout"},
    {"log-flush-frequency"},
    {"log-json-info-buffer-size"},
    {"log-json-split-stream", true},
    {"log-text-info-buffer-size"},
    {"log-text-split-stream", true},
    {"machine-id-file"},
    {"metrics-bind-address"},
    {"metrics-port"},
    {"oom-score-adj"},
    {"profiling", true},
    {"proxy-port-range"},
    {"show-hidden-metrics-for-version"},
    {"udp-timeout"},
    {"vmodule"},
    {"write-config-to"},
});

constexpr std::array kRetired = std::to_array<ForeignName>({
    {"add-dir-header", true},
    {"alsologtostderr", true},
    {"log-backtrace-at"},
    {"log-dir"},
    {"log-file"},
    {"log-file-max-size"},
    {"logtostderr", true},
    {"one-output", true},
    {"skip-headers", true},
    {"skip-log-headers", true},
    {"stderrthreshold"},
});

template <class Table>
auto find_in(const Table& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

std::span<const FlagSpec> flag_table() { return kFlags; }

const FlagSpec* find_flag(std::string_view name) { return find_in(kFlags, name); }

std::string_view group_title(FlagGroup group) {
  switch (group) {
    case general: return "General";
    case source: return "Where Services come from";
    case node: return "This node";
    case backend: return "Backend";
    case local_traffic: return "Local traffic and masquerading";
    case pace: return "Pace";
    case logging: return "Logging";
  }
  return "";
}

ForeignFlagInfo find_foreign_flag(std::string_view name) {
  if (const auto* known = find_in(kKnown, name)) return {ForeignFlag::known, known->boolean};
  if (const auto* retired = find_in(kRetired, name)) return {ForeignFlag::retired, retired->boolean};
  return {};
}

std::string_view nearest_flag(std::string_view name) {
  std::vector<std::string_view> names;
  for (const FlagSpec& flag : kFlags) names.push_back(flag.name);
  return nearest_name(name, names);
}

}  // namespace sluice::app
