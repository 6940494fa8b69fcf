// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/kube_proxy_fields.hpp"

#include <utility>

namespace sluice::config {
namespace {

// `at` selects the value in the draft: a member, or a member of a member.
template <class At>
FieldReader text_at(At at) {
  return [at](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.text(); value && !value->empty()) at(draft).set(*value, node.where());
  };
}
template <class At>
FieldReader boolean_at(At at) {
  return [at](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.boolean()) at(draft).set(*value, node.where());
  };
}
template <class At>
FieldReader number_at(At at) {
  return [at](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.number()) at(draft).set(*value, node.where());
  };
}
template <class At>
FieldReader texts_at(At at) {
  return [at](const ConfigNode& node, Draft& draft) {
    if (auto values = node.texts(); !values.empty()) at(draft) = std::move(values);
  };
}
// Zero means the default.
template <class At>
FieldReader period_at(At at) {
  return [at](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.duration(); value && value->count() != 0) at(draft).set(*value, node.where());
  };
}
// Zero means zero.
template <class At>
FieldReader duration_at(At at) {
  return [at](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.duration()) at(draft).set(*value, node.where());
  };
}

// Selects a member of a member of the draft.
template <class Part, class Value>
auto in(Part Draft::*part, Value Part::*member) {
  return [part, member](Draft& draft) -> Value& { return draft.*part.*member; };
}
template <class Value>
auto in(Value Draft::*member) {
  return [member](Draft& draft) -> Value& { return draft.*member; };
}

void read_feature_gates(const ConfigNode& map, Draft& draft) {
  draft.feature_gates.clear();  // the last of a repeated field wins
  for (const auto& member : map.members()) {
    if (const auto on = member.node.boolean()) {
      draft.feature_gates.push_back({member.name + (*on ? "=true" : "=false"), member.node.where()});
    }
  }
}

void read_vmodule(const ConfigNode& list, Draft& draft) {
  draft.vmodule.clear();
  for (const ConfigNode& element : list.elements()) {
    std::string pattern;
    int verbosity = 0;
    for (const auto& member : element.members()) {
      if (member.name == "filePattern") {
        pattern = member.node.text().value_or("");
      } else if (member.name == "verbosity") {
        verbosity = member.node.number().value_or(0);
      } else {
        member.node.error("unknown field; allowed: filePattern, verbosity");
      }
    }
    draft.vmodule.push_back({pattern + "=" + std::to_string(verbosity), element.where()});
  }
}

// Old files contain nanoseconds, Go's format for a duration that is not a string.
void read_flush_frequency(const ConfigNode& node, Draft& draft) {
  if (const auto value = node.duration_or_nanoseconds(); value && value->count() != 0) {
    draft.log_flush_frequency.set(*value, node.where());
  }
}

Fields make_fields() {
  using field_readers::ignored;
  Fields out = {
      {"apiVersion", ignored},
      {"kind", ignored},
      {"bindAddress", text_at(in(&Draft::bind_address))},
      {"bindAddressHardFail", boolean_at(in(&Draft::bind_address_hard_fail))},
      {"clientConnection.acceptContentTypes", text_at(in(&Draft::accept_content_types))},
      {"clientConnection.burst", number_at(in(&Draft::burst))},
      {"clientConnection.contentType", text_at(in(&Draft::content_type))},
      {"clientConnection.kubeconfig", text_at(in(&Draft::kubeconfig))},
      {"clientConnection.qps", field_readers::decimal(&Draft::qps)},
      {"clusterCIDR", text_at(in(&Draft::cluster_cidr))},
      {"configSyncPeriod", period_at(in(&Draft::config_sync_period))},
      {"detectLocal.bridgeInterface", text_at(in(&Draft::bridge_interface))},
      {"detectLocal.interfaceNamePrefix", text_at(in(&Draft::interface_name_prefix))},
      {"detectLocalMode", text_at(in(&Draft::detect_local_mode))},
      {"enableProfiling", boolean_at(in(&Draft::profiling))},
      {"featureGates", read_feature_gates},
      {"healthzBindAddress", text_at(in(&Draft::healthz_address))},
      {"hostnameOverride", text_at(in(&Draft::host_name))},
      {"iptables.localhostNodePorts", boolean_at(in(&Draft::localhost_node_ports))},
      {"iptables.masqueradeAll", boolean_at(in(&Draft::iptables, &ModeDraft::masquerade_all))},
      {"iptables.masqueradeBit", number_at(in(&Draft::iptables, &ModeDraft::masquerade_bit))},
      {"iptables.minSyncPeriod", period_at(in(&Draft::iptables, &ModeDraft::min_sync_period))},
      {"iptables.syncPeriod", period_at(in(&Draft::iptables, &ModeDraft::sync_period))},
      {"logging.flushFrequency", read_flush_frequency},
      {"logging.format", text_at(in(&Draft::log_format))},
      {"logging.options.json.infoBufferSize", text_at(in(&Draft::log_json, &StreamDraft::buffer))},
      {"logging.options.json.splitStream", boolean_at(in(&Draft::log_json, &StreamDraft::split))},
      {"logging.options.text.infoBufferSize", text_at(in(&Draft::log_text, &StreamDraft::buffer))},
      {"logging.options.text.splitStream", boolean_at(in(&Draft::log_text, &StreamDraft::split))},
      {"logging.verbosity", number_at(in(&Draft::verbosity))},
      {"logging.vmodule", read_vmodule},
      {"metricsBindAddress", text_at(in(&Draft::metrics_address))},
      {"mode", text_at(in(&Draft::mode))},
      {"nftables.masqueradeAll", boolean_at(in(&Draft::nftables, &ModeDraft::masquerade_all))},
      {"nftables.masqueradeBit", number_at(in(&Draft::nftables, &ModeDraft::masquerade_bit))},
      {"nftables.minSyncPeriod", period_at(in(&Draft::nftables, &ModeDraft::min_sync_period))},
      {"nftables.syncPeriod", period_at(in(&Draft::nftables, &ModeDraft::sync_period))},
      {"nodePortAddresses", texts_at(in(&Draft::node_port_addresses))},
      {"oomScoreAdj", number_at(in(&Draft::oom_score_adj))},
      {"portRange", text_at(in(&Draft::port_range))},
      {"showHiddenMetricsForVersion", text_at(in(&Draft::show_hidden_metrics))},
      {"windowsRunAsService", boolean_at(in(&Draft::windows_run_as_service))},
  };
  const Fields more = {
      {"conntrack.maxPerCore", number_at(in(&Draft::conntrack, &ConntrackDraft::max_per_core))},
      {"conntrack.min", number_at(in(&Draft::conntrack, &ConntrackDraft::min))},
      {"conntrack.tcpBeLiberal", boolean_at(in(&Draft::conntrack, &ConntrackDraft::tcp_be_liberal))},
      {"conntrack.tcpCloseWaitTimeout", duration_at(in(&Draft::conntrack, &ConntrackDraft::tcp_close_wait_timeout))},
      {"conntrack.tcpEstablishedTimeout", duration_at(in(&Draft::conntrack, &ConntrackDraft::tcp_established_timeout))},
      {"conntrack.udpStreamTimeout", duration_at(in(&Draft::conntrack, &ConntrackDraft::udp_stream_timeout))},
      {"conntrack.udpTimeout", duration_at(in(&Draft::conntrack, &ConntrackDraft::udp_timeout))},
      {"ipvs.excludeCIDRs", texts_at(in(&Draft::ipvs_mode, &IpvsDraft::exclude_cidrs))},
      {"ipvs.minSyncPeriod", duration_at(in(&Draft::ipvs, &ModeDraft::min_sync_period))},
      {"ipvs.scheduler", text_at(in(&Draft::ipvs_mode, &IpvsDraft::scheduler))},
      {"ipvs.strictARP", boolean_at(in(&Draft::ipvs_mode, &IpvsDraft::strict_arp))},
      {"ipvs.syncPeriod", period_at(in(&Draft::ipvs, &ModeDraft::sync_period))},
      {"ipvs.tcpFinTimeout", duration_at(in(&Draft::ipvs_mode, &IpvsDraft::tcp_fin_timeout))},
      {"ipvs.tcpTimeout", duration_at(in(&Draft::ipvs_mode, &IpvsDraft::tcp_timeout))},
      {"ipvs.udpTimeout", duration_at(in(&Draft::ipvs_mode, &IpvsDraft::udp_timeout))},
      {"winkernel.enableDSR", boolean_at(in(&Draft::winkernel, &WinkernelDraft::enable_dsr))},
      {"winkernel.forwardHealthCheckVip", boolean_at(in(&Draft::winkernel, &WinkernelDraft::forward_health_check_vip))},
      {"winkernel.networkName", text_at(in(&Draft::winkernel, &WinkernelDraft::network_name))},
      {"winkernel.rootHnsEndpointName", text_at(in(&Draft::winkernel, &WinkernelDraft::root_hns_endpoint_name))},
      {"winkernel.sourceVip", text_at(in(&Draft::winkernel, &WinkernelDraft::source_vip))},
  };
  out.insert(more.begin(), more.end());
  return out;
}

}  // namespace

namespace field_readers {

FieldReader text(Sourced<std::string> Draft::*member) { return text_at(in(member)); }
FieldReader boolean(Sourced<bool> Draft::*member) { return boolean_at(in(member)); }
FieldReader decimal(Sourced<double> Draft::*member) {
  return [member](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.decimal()) (draft.*member).set(*value, node.where());
  };
}
FieldReader texts(std::vector<Sourced<std::string>> Draft::*member) { return texts_at(in(member)); }
FieldReader period(Sourced<Duration> Draft::*member) { return period_at(in(member)); }
void ignored(const ConfigNode&, Draft&) {}

}  // namespace field_readers

const Fields& kube_proxy_fields() {
  static const Fields fields = make_fields();
  return fields;
}

}  // namespace sluice::config
