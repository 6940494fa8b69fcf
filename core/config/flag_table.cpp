// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/flag_table.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/config/mode_table.hpp"
#include "sluice/sdk/nearest.hpp"

namespace sluice::config {
namespace {

namespace table {  // keeps the short names of kinds and groups to the table

using enum FlagKind;
using enum FlagGroup;

constexpr std::array kFlags = std::to_array<FlagSpec>({
    {"config", text, general, true, "FILE", "",
     "Configuration file (KubeProxyConfiguration, optionally followed by SluiceConfiguration). Flags that the file "
     "covers are ignored."},
    {"write-config-to", text, general, true, "FILE", "",
     "Write the effective configuration, with every default, to a file for --config, and exit."},
    {"check", boolean, general, true, "", "false",
     "Check the configuration, report everything that is wrong with it, and exit."},
    {"init-only", boolean, general, true, "", "false", "Apply privileged settings such as sysctls, then exit."},
    {"cleanup", boolean, general, true, "", "false",
     "Remove everything that Sluice or kube-proxy programmed on this node, and exit."},
    {"state-dir", text, general, true, "DIR", "/run/sluice",
     "Directory for the control socket and for state that must survive a restart."},
    {"feature-gates", list, general, false, "NAME=BOOL,...", "",
     "Feature gates of kube-proxy; AllowServiceExternalIPs=false ignores spec.externalIPs."},
    {"version", text, general, true, "[=raw|vX.Y.Z]", "false",
     "Print the version, with =raw its number alone, and exit; with =vX.Y.Z run, and report that version of "
     "Kubernetes."},
    {"help", boolean, general, true, "", "false", "Print this text and exit."},

    {"kubeconfig", text, source, false, "FILE", "", "Credentials and address of the API server."},
    {"master", text, source, true, "URL", "", "Address of the API server; overrides the one in the kubeconfig."},
    {"manifests", text, source, true, "DIR|FILE", "",
     "Read Services, EndpointSlices, Nodes and ServiceCIDRs from disk instead of an API server."},
    {"replay", text, source, true, "FILE", "",
     "Replay a recording instead of connecting to an API server. The node name is that of the recording, unless "
     "--hostname-override is set."},
    {"replay-speed", decimal, source, true, "FACTOR", "1",
     "Speed of --replay as a factor of the recorded speed; 0 replays without delays."},
    {"record", text, source, true, "FILE", "",
     "Record the events of the source for --replay. An existing recording is renamed to FILE.old."},
    {"kube-api-qps", decimal, source, false, "NUMBER", "5",
     "Maximum requests per second to the API server; negative means unlimited."},
    {"kube-api-burst", number, source, false, "NUMBER", "10", "Maximum burst of requests to the API server."},
    {"kube-api-content-type", text, source, false, "TYPE", "application/vnd.kubernetes.protobuf",
     "Ignored (accepted for compatibility): the API server is asked for JSON."},
    {"config-sync-period", duration, source, false, "DURATION", "15m0s",
     "Ignored (accepted for compatibility): there is no cache to resync."},

    {"hostname-override", text, node, true, "NAME", "", "Name of this node in the cluster, instead of the host name."},
    {"bind-address", text, node, false, "IP", "0.0.0.0",
     "Overrides the node's IP address and primary family; 0.0.0.0 or :: leave both to the Node object."},
    {"nodeport-addresses", list, node, false, "CIDR,...", "",
     "Addresses that serve node ports: CIDRs, or the word primary for the node's own; all when empty. May be "
     "repeated."},
    {"oom-score-adj", number, node, false, "NUMBER", "-999",
     "OOM score adjustment, from -1000 (never killed) to 1000."},
    {"boot-id-file", text, node, false, "FILE,...", "", "Ignored (accepted for compatibility)."},
    {"machine-id-file", text, node, false, "FILE,...", "", "Ignored (accepted for compatibility)."},

    {"proxy-mode", text, backend, false, "ID|auto", kDefaultMode,
     "Backend to use: the id of any installed plugin, or auto for the first of nftables and iptables that works here."},
    {"plugin-dir", repeated, backend, true, "DIR", "",
     "Directory to search for backends, instead of the installed one. May be repeated; the first directory with the "
     "backend wins."},
    {"iptables-localhost-nodeports", boolean, backend, false, "", "true",
     "Serve node ports on 127.0.0.1 too, IPv4 only."},

    {"cluster-cidr", text, local_traffic, false, "CIDR[,CIDR]", "",
     "Address range of pods, at most one per address family. Traffic to cluster IPs from other sources is "
     "masqueraded."},
    {"detect-local-mode", text, local_traffic, false, "MODE", "ClusterCIDR",
     "How traffic of local pods is recognised: ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix."},
    {"pod-bridge-interface", text, local_traffic, false, "NAME", "", "The bridge of local pods, for BridgeInterface."},
    {"pod-interface-name-prefix", text, local_traffic, false, "PREFIX", "",
     "Prefix of the interface names of local pods, for InterfaceNamePrefix."},
    {"masquerade-all", boolean, local_traffic, false, "", "false", "Masquerade all traffic to cluster IPs."},
    {"iptables-masquerade-bit", number, local_traffic, false, "0-31", "14",
     "Bit of the packet mark that asks for masquerading."},

    {"iptables-sync-period", duration, pace, false, "DURATION", "30s",
     "Interval of checks for drift between the kernel and the expected rules."},
    {"iptables-min-sync-period", duration, pace, false, "DURATION", "1s",
     "Minimum time between two writes to the kernel; 0 writes every change at once."},

    {"healthz-bind-address", text, serving, false, "IP[:PORT]", "0.0.0.0:10256",
     "Where /healthz and /livez are served."},
    {"healthz-port", number, serving, false, "PORT", "10256",
     "Port of --healthz-bind-address if it has none; 0 turns the server off. Deprecated."},
    {"metrics-bind-address", text, serving, false, "IP[:PORT]", "127.0.0.1:10249", "Where /metrics is served."},
    {"metrics-port", number, serving, false, "PORT", "10249",
     "Port of --metrics-bind-address if it has none. Deprecated."},
    {"bind-address-hard-fail", boolean, serving, false, "", "false",
     "Exit if one of these addresses cannot be bound, instead of retrying."},
    {"profiling", boolean, serving, false, "", "false", "Serve /debug/flags/v on the metrics address."},
    {"show-hidden-metrics-for-version", text, serving, false, "VERSION", "",
     "Ignored (accepted for compatibility): no metric is hidden. Only the previous release is allowed."},

    {"conntrack-max-per-core", number, conntrack, false, "NUMBER", "32768",
     "Maximum tracked connections per processor; 0 keeps the limit of the kernel."},
    {"conntrack-min", number, conntrack, false, "NUMBER", "131072",
     "Minimum of the limit of tracked connections, regardless of the number of processors."},
    {"conntrack-tcp-timeout-established", duration, conntrack, false, "DURATION", "24h0m0s",
     "Timeout of idle TCP connections; 0 keeps the value of the kernel."},
    {"conntrack-tcp-timeout-close-wait", duration, conntrack, false, "DURATION", "1h0m0s",
     "Timeout of TCP connections in the state CLOSE_WAIT; 0 keeps the value of the kernel."},
    {"conntrack-tcp-be-liberal", boolean, conntrack, false, "", "false",
     "Do not treat TCP packets outside the window as invalid."},
    {"conntrack-udp-timeout", duration, conntrack, false, "DURATION", "0s",
     "Timeout of UDP flows without a reply; 0 keeps the value of the kernel."},
    {"conntrack-udp-timeout-stream", duration, conntrack, false, "DURATION", "0s",
     "Timeout of UDP flows with replies; 0 keeps the value of the kernel."},

    {"ipvs-sync-period", duration, ipvs, false, "DURATION", "30s", "Like --iptables-sync-period, for ipvs mode."},
    {"ipvs-min-sync-period", duration, ipvs, false, "DURATION", "1s",
     "Like --iptables-min-sync-period, for ipvs mode."},
    {"ipvs-scheduler", text, ipvs, false, "NAME", "", "Scheduler of virtual servers; rr when empty."},
    {"ipvs-exclude-cidrs", list, ipvs, false, "CIDR,...", "",
     "Address ranges of virtual servers that the backend does not change."},
    {"ipvs-strict-arp", boolean, ipvs, false, "", "false", "Answer ARP for an address on its own interface only."},
    {"ipvs-tcp-timeout", duration, ipvs, false, "DURATION", "0s",
     "Timeout of idle TCP connections; 0 keeps the value of the kernel."},
    {"ipvs-tcpfin-timeout", duration, ipvs, false, "DURATION", "0s",
     "Timeout of TCP connections after a FIN; 0 keeps the value of the kernel."},
    {"ipvs-udp-timeout", duration, ipvs, false, "DURATION", "0s",
     "Timeout of UDP flows; 0 keeps the value of the kernel."},
    {"proxy-port-range", text, userspace, false, "LOW-HIGH", "", "Ports the proxy may open; any when empty."},
    {"udp-timeout", duration, userspace, false, "DURATION", "250ms", "How long an idle UDP connection is kept."},

    {"v", number, logging, true, "LEVEL", "0", "Log verbosity; 1 logs all flags, 4 and higher logs debug lines."},
    {"vmodule", list, logging, true, "PATTERN=LEVEL,...", "",
     "Verbosity of single components; the component is the word before ] in a line. Text format only."},
    {"logging-format", text, logging, true, "text|json", "text", "Form of log lines."},
    {"log-flush-frequency", duration, logging, true, "DURATION", "5s", "Maximum delay of buffered lines."},
    {"log-text-split-stream", boolean, logging, true, "", "false",
     "In text format, write info lines to standard output, and warnings and errors to standard error."},
    {"log-text-info-buffer-size", text, logging, true, "BYTES", "0",
     "With --log-text-split-stream: buffer size for info lines, such as 64Ki."},
    {"log-json-split-stream", boolean, logging, true, "", "false",
     "In json format, write info lines to standard output, and warnings and errors to standard error."},
    {"log-json-info-buffer-size", text, logging, true, "BYTES", "0",
     "With --log-json-split-stream: buffer size for info lines, such as 64Ki."},
});

}  // namespace table

using table::kFlags;

struct RetiredName {
  std::string_view name;
  bool boolean = false;
};

constexpr std::array kRetired = std::to_array<RetiredName>({
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
  using enum FlagGroup;
  switch (group) {
    case general:
      return "General";
    case source:
      return "Where Services come from";
    case node:
      return "This node";
    case backend:
      return "Backend";
    case local_traffic:
      return "Local traffic and masquerading";
    case pace:
      return "Sync intervals";
    case serving:
      return "Health and metrics";
    case conntrack:
      return "Connection tracking";
    case ipvs:
      return "ipvs mode";
    case userspace:
      return "userspace mode";
    case logging:
      return "Logging";
  }
  return "";
}

RetiredFlag find_retired_flag(std::string_view name) {
  if (const auto* retired = find_in(kRetired, name)) return {true, retired->boolean};
  return {};
}

std::string_view nearest_flag(std::string_view name) {
  std::vector<std::string_view> names;
  for (const FlagSpec& flag : kFlags) names.push_back(flag.name);
  return sdk::nearest_name(name, names);
}

}  // namespace sluice::config
