// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/config/option_table.hpp"

#include "core/config/values.hpp"

namespace sluice::test {
namespace {

using config::Duration;
using config::go_duration;
using config::LogFormat;
using enum config::FlagKind;
using S = const config::Settings&;

std::string show(bool value) { return value ? "true" : "false"; }
std::string show(int value) { return std::to_string(value); }
std::string show(Duration value) { return go_duration(value); }
std::string show(const std::optional<lib::SocketAddress>& value) { return value ? value->to_string() : ""; }

const std::string kNegative = " is negative; allowed: 0 or more";
const std::string kNoAddress =
    "' is not an address to listen on; allowed: an IP address, or IP:port (IPv6 as [IP]:port) with a port from 1 to "
    "65535";
const std::string kNoCidr = "' is not a CIDR; allowed: CIDRs such as 10.0.0.0/8 or fd00::/8";
const std::string kNoBit = " is not a bit of a packet mark; allowed: 0 to 31";
const std::string kTooShort = " is too short; allowed: more than 0";
const std::string kNoSize = "' is not a size; allowed: bytes, such as 65536, 64Ki or 1M";
const std::string kLongerThanSync = "is longer than the sync period, 30s; allowed: at most the sync period";
const std::vector<Refused> kNotNegativeNumber{{"-1", "-1" + kNegative}};
const std::vector<Refused> kNotNegativeTime{{"-1s", "-1s" + kNegative}};
const std::vector<Refused> kPositiveTime{{"-1s", "-1s" + kTooShort}};
const std::vector<Refused> kListen{{"eth0", "'eth0" + kNoAddress},
                                   {"10.0.0.1:0", "'10.0.0.1:0" + kNoAddress},
                                   {"10.0.0.1:65536", "'10.0.0.1:65536" + kNoAddress},
                                   {"::1:80:x", "'::1:80:x" + kNoAddress, "\"::1:80:x\""}};
std::vector<Refused> least_period() {
  return {{"-1s", "-1s" + kNegative}, {"31s", "the minimum sync period, 31s, " + kLongerThanSync}};
}

// The same value in flag, file and effective configuration.
Option plain(std::string flag, std::string field, config::FlagKind kind, std::string by_default, std::string other,
             std::vector<Refused> refused, std::string (*arrives)(S)) {
  return {std::move(flag),
          std::move(field),
          kind,
          std::move(by_default),
          std::move(other),
          "",
          "",
          std::move(refused),
          {},
          "",
          arrives};
}

std::vector<Option> process_options() {
  return {
      {"config", "", text, "", ""},
      {"write-config-to", "", text, "", ""},
      {"check", "", boolean, "", ""},
      {"init-only", "", boolean, "", ""},
      {"cleanup", "", boolean, "", ""},
      {"hold-descriptors", "", boolean, "", ""},
      {"version", "", text, "", ""},
      {"help", "", boolean, "", ""},
      plain("state-dir", "", text, "/run/sluice", "/s",
            {{"run",
              "'run' is not a valid state directory; allowed: an absolute path of at most 90 bytes, so that a "
              "socket fits in it"}},
            [](S s) { return s.state_dir; }),
      {"feature-gates",
       "featureGates",
       list,
       "",
       "AllowServiceExternalIPs=false",
       R"({"AllowServiceExternalIPs":false})",
       "{AllowServiceExternalIPs: false}",
       {{"AnyVolumeDataSource=false", "gate AnyVolumeDataSource is locked to true; remove it, or set it to true",
         "{AnyVolumeDataSource: false}"}},
       {},
       "",
       [](S s) { return "{\"AllowServiceExternalIPs\":" + show(s.allow_external_ips) + "}"; }},
      plain("master", "", text, "", "https://m", {}, [](S s) { return s.source.master; }),
      plain("manifests", "", text, "", "/m", {}, [](S s) { return s.source.manifests; }),
      plain("replay", "", text, "", "/r", {}, [](S s) { return s.source.replay; }),
      {"replay-speed",
       "",
       decimal,
       "1",
       "3",
       "",
       "",
       {{"-1", "is negative; allowed: 0 (without waiting), or a factor such as 1, 0.5 or 10"}},
       {"--replay=/r"},
       "",
       [](S s) { return show(static_cast<int>(s.source.replay_speed)); }},
      plain("record", "", text, "", "/r", {}, [](S s) { return s.source.record; }),
      plain("plugin-dir", "", repeated, "/lib/plugins", "/p",
            {{"here", "'here' is not an absolute path; allowed: a path that begins with /"}},
            [](S s) { return s.plugins.folders.at(0); }),
      plain("kubeconfig", "clientConnection.kubeconfig", text, "", "/k", {}, [](S s) { return s.source.kubeconfig; }),
      plain("kube-api-qps", "clientConnection.qps", decimal, "5", "7", {},
            [](S s) { return show(static_cast<int>(s.source.client.qps)); }),
      plain("kube-api-burst", "clientConnection.burst", number, "10", "7", kNotNegativeNumber,
            [](S s) { return show(s.source.client.burst); }),
      plain("kube-api-content-type", "clientConnection.contentType", text, "application/vnd.kubernetes.protobuf",
            "application/json",
            {{"text/html", "'text/html' is not a content type that the daemon reads; allowed: "
                           "application/vnd.kubernetes.protobuf, application/json"}},
            [](S s) { return s.source.client.content_type; }),
      plain("", "clientConnection.acceptContentTypes", text, "", "application/json",
            {{"text/html", "'text/html' names a content type that the daemon does not read; allowed: "
                           "application/vnd.kubernetes.protobuf, application/json, or both"}},
            [](S s) { return s.source.client.accept_content_types; }),
      {"config-sync-period", "configSyncPeriod", duration, "15m0s", "1h", "1h0m0s", "", kPositiveTime},
      {"hostname-override",
       "hostnameOverride",
       text,
       "",
       "Node-2",
       "node-2",
       "",
       {{"  ", "is only blanks; allowed: the name of the Node object", "'  '"}},
       {},
       "",
       [](S s) { return s.node_name == "host-1" ? "" : s.node_name; }},
      plain("bind-address", "bindAddress", text, "0.0.0.0", "10.0.0.1",
            {{"eth0", "'eth0' is not an IP address; allowed: an address of this node, or 0.0.0.0 or ::"}},
            [](S s) { return s.bind_address.to_string(); }),
      {"nodeport-addresses",
       "nodePortAddresses",
       list,
       "null",
       "10.0.0.0/8,fd00::/8",
       R"(["10.0.0.0/8","fd00::/8"])",
       "[10.0.0.0/8, 'fd00::/8']",
       {{"10.0.0.1", "'10.0.0.1" + kNoCidr + ", or the single word primary", "[10.0.0.1]"},
        {"primary,10.0.0.0/8", "primary is combined with other entries; allowed: the single word primary, or CIDRs",
         "[primary, 10.0.0.0/8]"}}},
      {"oom-score-adj",
       "oomScoreAdj",
       number,
       "-999",
       "1000",
       "",
       "",
       {{"-1001", "-1001 is not an OOM score; allowed: -1000 to 1000"},
        {"1001", "1001 is not an OOM score; allowed: -1000 to 1000"}},
       {},
       "",
       [](S s) { return show(s.oom_score_adj); }},
      {"boot-id-file", "", text, "/b", "/b"},
      {"machine-id-file", "", text, "/m", "/m"},
      plain("healthz-bind-address", "healthzBindAddress", text, "0.0.0.0:10256", "10.0.0.1:99", kListen,
            [](S s) { return show(s.serve.healthz); }),
      {"metrics-bind-address",
       "metricsBindAddress",
       text,
       "127.0.0.1:10249",
       "10.0.0.1",
       "10.0.0.1:10249",
       "",
       kListen,
       {},
       "",
       [](S s) { return show(s.serve.metrics); }},
      {"healthz-port",
       "",
       number,
       "0.0.0.0:10256",
       "99",
       "10.0.0.1:99",
       "",
       {{"65536", "'10.0.0.1:65536" + kNoAddress}, {"-1", "'10.0.0.1:-1" + kNoAddress}},
       {"--healthz-bind-address=10.0.0.1"},
       "",
       [](S s) { return show(s.serve.healthz); }},
      {"metrics-port",
       "",
       number,
       "127.0.0.1:10249",
       "99",
       "[fd00::1]:99",
       "",
       {{"0", "turns the metrics server off, which kube-proxy does not allow; allowed: 1 to 65535"}},
       {"--metrics-bind-address=fd00::1"},
       "",
       [](S s) { return show(s.serve.metrics); }},
      plain("bind-address-hard-fail", "bindAddressHardFail", boolean, "false", "true", {},
            [](S s) { return show(s.serve.bind_address_hard_fail); }),
      plain("profiling", "enableProfiling", boolean, "false", "true", {}, [](S s) { return show(s.serve.profiling); }),
      {"show-hidden-metrics-for-version",
       "showHiddenMetricsForVersion",
       text,
       "",
       "1.35",
       "",
       "",
       {{"1.30", "'1.30' is not the release before this one; allowed: 1.35, or nothing"}}},
      {"", "portRange", text, "", "1-2"},
      {"", "windowsRunAsService", boolean, "", "true"},
      {"", "winkernel.networkName", text, "", "n"},
      {"", "winkernel.sourceVip", text, "", "v"},
      {"", "winkernel.enableDSR", boolean, "false", "true"},
      {"", "winkernel.rootHnsEndpointName", text, "", "r"},
      {"", "winkernel.forwardHealthCheckVip", boolean, "false", "true"},
  };
}

std::vector<Option> mode_options() {
  const std::vector<std::string> ipvs{"--proxy-mode=ipvs"};
  const std::string ipvs_file = "mode: ipvs\n";
  const std::string nftables = "mode: nftables\n";
  const std::vector<std::string> userspace{"--proxy-mode=userspace"};
  const auto sync = [](S s) { return show(s.sync_period); };
  const auto least = [](S s) { return s.min_sync_period ? show(*s.min_sync_period) : "0s"; };
  const auto mark = [](S s) { return show(s.masquerade_bit); };
  const auto all = [](S s) { return show(s.masquerade_all); };
  const std::vector<Refused> bits{{"-1", "-1" + kNoBit}, {"32", "32" + kNoBit}};
  return {
      {"proxy-mode",
       "mode",
       text,
       "iptables",
       "ipvs",
       "",
       "",
       {{"kernelspace",
         "backend 'kernelspace' is not installed in /lib/plugins; installed: com.example.dpu, iptables, "
         "ipvs, nftables, userspace; install it or set --plugin-dir"},
        {"auto", "the backend cannot be chosen here; allowed: the id of an installed one"}},
       {},
       "",
       [](S s) { return s.backend; }},
      {"masquerade-all", "iptables.masqueradeAll", boolean, "false", "true", "", "", {}, {}, "", all},
      {"iptables-masquerade-bit", "iptables.masqueradeBit", number, "14", "31", "", "", bits, {}, "", mark},
      plain("iptables-localhost-nodeports", "iptables.localhostNodePorts", boolean, "true", "false", {},
            [](S s) { return show(s.localhost_node_ports); }),
      {"iptables-sync-period",
       "iptables.syncPeriod",
       duration,
       "30s",
       "1m",
       "1m0s",
       "",
       {{"-1s", "-1s" + kTooShort}},
       {},
       "",
       sync},
      {"iptables-min-sync-period",
       "iptables.minSyncPeriod",
       duration,
       "0s",
       "2s",
       "",
       "",
       least_period(),
       {},
       "",
       least},
      {"ipvs-sync-period",
       "ipvs.syncPeriod",
       duration,
       "30s",
       "1m",
       "1m0s",
       "",
       {{"-1s", "-1s" + kTooShort}},
       ipvs,
       ipvs_file,
       sync},
      {"ipvs-min-sync-period", "ipvs.minSyncPeriod", duration, "0s", "2s", "", "", least_period(), ipvs, ipvs_file,
       least},
      {"ipvs-scheduler",
       "ipvs.scheduler",
       text,
       "",
       "wlc",
       "",
       "",
       {},
       ipvs,
       ipvs_file,
       [](S s) { return s.mode_options.at("ipvs.scheduler"); }},
      {"ipvs-exclude-cidrs",
       "ipvs.excludeCIDRs",
       list,
       "null",
       "10.0.0.0/8",
       R"(["10.0.0.0/8"])",
       "[10.0.0.0/8]",
       {{"x", "'x" + kNoCidr, "[x]"}},
       ipvs,
       ipvs_file,
       [](S s) { return "[\"" + s.mode_options.at("ipvs.excludeCIDRs") + "\"]"; }},
      {"ipvs-strict-arp",
       "ipvs.strictARP",
       boolean,
       "false",
       "true",
       "",
       "",
       {},
       ipvs,
       ipvs_file,
       [](S s) { return s.mode_options.at("ipvs.strictARP"); }},
      {"ipvs-tcp-timeout", "ipvs.tcpTimeout", duration, "0s", "5s", "", "", kNotNegativeTime, ipvs, ipvs_file,
       [](S s) { return s.mode_options.at("ipvs.tcpTimeout"); }},
      {"ipvs-tcpfin-timeout", "ipvs.tcpFinTimeout", duration, "0s", "5s", "", "", kNotNegativeTime, ipvs, ipvs_file,
       [](S s) { return s.mode_options.at("ipvs.tcpFinTimeout"); }},
      {"ipvs-udp-timeout", "ipvs.udpTimeout", duration, "0s", "5s", "", "", kNotNegativeTime, ipvs, ipvs_file,
       [](S s) { return s.mode_options.at("ipvs.udpTimeout"); }},
      {"", "nftables.masqueradeAll", boolean, "false", "true", "", "", {}, {}, nftables, all},
      {"", "nftables.masqueradeBit", number, "14", "3", "", "", bits, {}, nftables, mark},
      {"", "nftables.syncPeriod", duration, "30s", "1m", "1m0s", "", {{"-1s", "-1s" + kTooShort}}, {}, nftables, sync},
      {"", "nftables.minSyncPeriod", duration, "0s", "2s", "", "", least_period(), {}, nftables, least},
      {"proxy-port-range",
       "",
       text,
       "",
       "1000-2000",
       "",
       "",
       {{"2000-1000", "'2000-1000' is not a port range; allowed: such as 30000-32767 or 30000+500"}},
       userspace,
       "",
       [](S s) { return s.mode_options.at("userspace.portRange"); }},
      {"udp-timeout",
       "",
       duration,
       "30s",
       "5s",
       "",
       "",
       {{"0", "0s" + kTooShort}},
       userspace,
       "",
       [](S s) { return s.mode_options.at("userspace.udpTimeout"); }},
      {"detect-local-mode",
       "detectLocalMode",
       text,
       "ClusterCIDR",
       "NodeCIDR",
       "",
       "",
       {{"bridge",
         "'bridge' is not a detection mode; allowed: ClusterCIDR, NodeCIDR, BridgeInterface, InterfaceNamePrefix"},
        {"BridgeInterface", "BridgeInterface needs --pod-bridge-interface or detectLocal.bridgeInterface"}}},
      {"pod-bridge-interface",
       "detectLocal.bridgeInterface",
       text,
       "",
       "br0",
       "",
       "",
       {{"a b", "'a b' is not an interface name; allowed: 1 to 15 characters, no blank, slash or colon"}},
       {"--detect-local-mode=BridgeInterface"},
       "detectLocalMode: BridgeInterface\n",
       [](S s) { return s.local_detector.bridge_interface; }},
      {"pod-interface-name-prefix",
       "detectLocal.interfaceNamePrefix",
       text,
       "",
       "veth",
       "",
       "",
       {{"a/b", "'a/b' is not an interface name; allowed: 1 to 14 characters, no blank, slash or colon"}},
       {"--detect-local-mode=InterfaceNamePrefix"},
       "detectLocalMode: InterfaceNamePrefix\n",
       [](S s) { return s.local_detector.interface_name_prefix; }},
      {"cluster-cidr",
       "clusterCIDR",
       text,
       "",
       "10.0.0.0/8,fd00::/8",
       "",
       "",
       {{"10.0.0.0/33", "'10.0.0.0/33' is not a CIDR; allowed: one CIDR, or one of each family with a comma between"},
        {"10.0.0.0/8,11.0.0.0/8",
         "'10.0.0.0/8,11.0.0.0/8' has two CIDRs of one family; allowed: one CIDR, or one of "
         "each family with a comma between"}}},
  };
}

std::vector<Option> node_options() {
  return {
      plain("conntrack-max-per-core", "conntrack.maxPerCore", number, "32768", "0", kNotNegativeNumber,
            [](S s) { return show(s.conntrack.max_per_core); }),
      plain("conntrack-min", "conntrack.min", number, "131072", "0", kNotNegativeNumber,
            [](S s) { return show(s.conntrack.min); }),
      plain("conntrack-tcp-timeout-established", "conntrack.tcpEstablishedTimeout", duration, "24h0m0s", "0s",
            kNotNegativeTime, [](S s) { return show(s.conntrack.tcp_established_timeout); }),
      plain("conntrack-tcp-timeout-close-wait", "conntrack.tcpCloseWaitTimeout", duration, "1h0m0s", "0s",
            kNotNegativeTime, [](S s) { return show(s.conntrack.tcp_close_wait_timeout); }),
      plain("conntrack-tcp-be-liberal", "conntrack.tcpBeLiberal", boolean, "false", "true", {},
            [](S s) { return show(s.conntrack.tcp_be_liberal); }),
      plain("conntrack-udp-timeout", "conntrack.udpTimeout", duration, "0s", "5s", kNotNegativeTime,
            [](S s) { return show(s.conntrack.udp_timeout); }),
      plain("conntrack-udp-timeout-stream", "conntrack.udpStreamTimeout", duration, "0s", "5s", kNotNegativeTime,
            [](S s) { return show(s.conntrack.udp_stream_timeout); }),
      plain("v", "logging.verbosity", number, "0", "4", {{"-1", "-1 is not a verbosity; allowed: 0 or more"}},
            [](S s) { return show(s.log.verbosity); }),
      {"vmodule",
       "logging.vmodule",
       list,
       "",
       "sync=4",
       R"([{"filePattern":"sync","verbosity":4}])",
       "[{filePattern: sync, verbosity: 4}]",
       {{"sync=-1", "'sync=-1' is not a pattern with a verbosity; allowed: PATTERN=LEVEL, such as sync=4",
         "[{filePattern: sync, verbosity: -1}]"}}},
      plain("logging-format", "logging.format", text, "text", "json",
            {{"xml", "'xml' is not a log format; allowed: text, json"}},
            [](S s) -> std::string { return s.log.format == LogFormat::json ? "json" : "text"; }),
      plain("log-flush-frequency", "logging.flushFrequency", duration, "5s", "7s", kPositiveTime,
            [](S s) { return show(s.log.flush_frequency); }),
      plain("log-text-split-stream", "logging.options.text.splitStream", boolean, "", "true", {},
            [](S s) -> std::string { return s.log.split_stream ? "true" : ""; }),
      {"log-text-info-buffer-size",
       "logging.options.text.infoBufferSize",
       text,
       "0",
       "64Ki",
       "",
       "",
       {{"much", "'much" + kNoSize}, {"-1", "'-1" + kNoSize}},
       {"--log-text-split-stream"},
       ""},
      {"log-json-split-stream",
       "logging.options.json.splitStream",
       boolean,
       "",
       "true",
       "",
       "",
       {},
       {"--logging-format=json"},
       ""},
      {"log-json-info-buffer-size",
       "logging.options.json.infoBufferSize",
       text,
       "0",
       "64Ki",
       "",
       "",
       {{"much", "'much" + kNoSize}}},
  };
}

}  // namespace

const std::vector<Option>& option_table() {
  static const std::vector<Option> table = [] {
    std::vector<Option> out = process_options();
    for (auto part : {mode_options(), node_options()}) out.insert(out.end(), part.begin(), part.end());
    return out;
  }();
  return table;
}

std::string default_configuration() {
  return R"({"kind":"KubeProxyConfiguration","apiVersion":"kubeproxy.config.k8s.io/v1alpha1","clientConnection":)"
         R"({"kubeconfig":"","acceptContentTypes":"","contentType":"application/vnd.kubernetes.protobuf","qps":5,)"
         R"("burst":10},"logging":{"format":"text","flushFrequency":"5s","verbosity":0,"options":{"text":)"
         R"({"infoBufferSize":"0"},"json":{"infoBufferSize":"0"}}},"hostnameOverride":"","bindAddress":"0.0.0.0",)"
         R"("healthzBindAddress":"0.0.0.0:10256","metricsBindAddress":"127.0.0.1:10249","bindAddressHardFail":)"
         R"(false,"enableProfiling":false,"showHiddenMetricsForVersion":"","mode":"iptables","iptables":)"
         R"({"masqueradeBit":14,"masqueradeAll":false,"localhostNodePorts":true,"syncPeriod":"30s",)"
         R"("minSyncPeriod":"0s"},"ipvs":{"syncPeriod":"30s","minSyncPeriod":"0s","scheduler":"","excludeCIDRs":)"
         R"(null,"strictARP":false,"tcpTimeout":"0s","tcpFinTimeout":"0s","udpTimeout":"0s"},"nftables":)"
         R"({"masqueradeBit":14,"masqueradeAll":false,"syncPeriod":"30s","minSyncPeriod":"0s"},"winkernel":)"
         R"({"networkName":"","sourceVip":"","enableDSR":false,"rootHnsEndpointName":"","forwardHealthCheckVip":)"
         R"(false},"detectLocalMode":"ClusterCIDR","detectLocal":{"bridgeInterface":"","interfaceNamePrefix":""},)"
         R"("clusterCIDR":"","nodePortAddresses":null,"oomScoreAdj":-999,"conntrack":{"maxPerCore":32768,"min":)"
         R"(131072,"tcpEstablishedTimeout":"24h0m0s","tcpCloseWaitTimeout":"1h0m0s","tcpBeLiberal":false,)"
         R"("udpTimeout":"0s","udpStreamTimeout":"0s"},"configSyncPeriod":"15m0s","portRange":""})";
}

}  // namespace sluice::test
