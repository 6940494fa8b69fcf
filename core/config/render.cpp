// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/render.hpp"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/config/documents.hpp"
#include "core/config/mode_table.hpp"
#include "core/config/validate_parts.hpp"
#include "core/config/values.hpp"
#include "core/node/node_ips.hpp"

namespace sluice::config {
namespace {

using Json = nlohmann::ordered_json;

std::string time(const Sourced<Duration>& value) { return go_duration(value.value); }

// Go prints a float without a fraction as a whole number, and an empty list as null.
Json number(double value) {
  constexpr double kExact = 0x1p53;
  if (std::nearbyint(value) == value && std::fabs(value) < kExact) return static_cast<std::int64_t>(value);
  return value;
}
Json list(const std::vector<Sourced<std::string>>& entries) {
  if (entries.empty()) return nullptr;
  Json out = Json::array();
  for (const auto& entry : entries) out.push_back(entry.value);
  return out;
}

Json logging(const Draft& draft) {
  const auto stream = [](const StreamDraft& from) {
    Json out = Json::object();
    if (from.split.value) out["splitStream"] = true;
    out["infoBufferSize"] = from.buffer.value;
    return out;
  };
  Json out;
  out["format"] = draft.log_format.value;
  out["flushFrequency"] = time(draft.log_flush_frequency);
  out["verbosity"] = draft.verbosity.value;
  for (const auto& module : draft.log().vmodule) {
    out["vmodule"].push_back(Json{{"filePattern", module.pattern}, {"verbosity", module.verbosity}});
  }
  out["options"] = Json{{"text", stream(draft.log_text)}, {"json", stream(draft.log_json)}};
  return out;
}

// The valid gates, sorted; the last of a repeated gate wins.
std::map<std::string, bool> gates(const Draft& draft) {
  std::map<std::string, bool> out;
  for (const auto& entry : draft.feature_gates) {
    const auto equals = entry.value.find('=');
    if (equals == std::string::npos) continue;
    const auto on = parse_boolean(trimmed(std::string_view(entry.value).substr(equals + 1)));
    if (on) out[std::string(trimmed(entry.value.substr(0, equals)))] = *on;
  }
  return out;
}

Json modes(const Draft& draft) {
  const auto pace = [](const ModeDraft& mode, Json out) {
    out["syncPeriod"] = time(mode.sync_period);
    out["minSyncPeriod"] = time(mode.min_sync_period);
    return out;
  };
  const auto mark = [](const ModeDraft& mode) {
    return Json{{"masqueradeBit", mode.masquerade_bit.value}, {"masqueradeAll", mode.masquerade_all.value}};
  };
  Json iptables = mark(draft.iptables);
  iptables["localhostNodePorts"] = draft.localhost_node_ports.value;
  Json ipvs = pace(draft.ipvs, Json::object());
  const IpvsDraft& from = draft.ipvs_mode;
  ipvs["scheduler"] = from.scheduler.value;
  ipvs["excludeCIDRs"] = list(from.exclude_cidrs);
  ipvs["strictARP"] = from.strict_arp.value;
  ipvs["tcpTimeout"] = time(from.tcp_timeout);
  ipvs["tcpFinTimeout"] = time(from.tcp_fin_timeout);
  ipvs["udpTimeout"] = time(from.udp_timeout);
  Json out;
  out["iptables"] = pace(draft.iptables, iptables);
  out["ipvs"] = ipvs;
  out["nftables"] = pace(draft.nftables, mark(draft.nftables));
  out["winkernel"] = Json{{"networkName", draft.winkernel.network_name.value},
                          {"sourceVip", draft.winkernel.source_vip.value},
                          {"enableDSR", draft.winkernel.enable_dsr.value},
                          {"rootHnsEndpointName", draft.winkernel.root_hns_endpoint_name.value},
                          {"forwardHealthCheckVip", draft.winkernel.forward_health_check_vip.value}};
  return out;
}

Json conntrack(const ConntrackDraft& from) {
  return Json{{"maxPerCore", from.max_per_core.value},
              {"min", from.min.value},
              {"tcpEstablishedTimeout", time(from.tcp_established_timeout)},
              {"tcpCloseWaitTimeout", time(from.tcp_close_wait_timeout)},
              {"tcpBeLiberal", from.tcp_be_liberal.value},
              {"udpTimeout", time(from.udp_timeout)},
              {"udpStreamTimeout", time(from.udp_stream_timeout)}};
}

// The order of the fields is that of the type in k8s.io/kube-proxy/config/v1alpha1.
Json kube_proxy(const Draft& draft, const Settings& settings) {
  Json out;
  out["kind"] = kKubeProxyKind;
  out["apiVersion"] = kKubeProxyApi;
  if (const auto all = gates(draft); !all.empty()) out["featureGates"] = all;
  out["clientConnection"] = Json{{"kubeconfig", draft.kubeconfig.value},
                                 {"acceptContentTypes", draft.accept_content_types.value},
                                 {"contentType", draft.content_type.value},
                                 {"qps", number(settings.source.client.qps)},
                                 {"burst", settings.source.client.burst}};
  out["logging"] = logging(draft);
  out["hostnameOverride"] =
      draft.host_name.given() ? node::normalized_node_name(draft.host_name.value, "") : std::string();
  out["bindAddress"] = draft.bind_address.value;
  out["healthzBindAddress"] = effective_healthz(draft);
  out["metricsBindAddress"] = effective_metrics(draft);
  out["bindAddressHardFail"] = draft.bind_address_hard_fail.value;
  out["enableProfiling"] = draft.profiling.value;
  out["showHiddenMetricsForVersion"] = draft.show_hidden_metrics.value;
  const std::string mode = draft.mode.given() ? draft.mode.value : std::string(kDefaultMode);
  out["mode"] = mode;
  out.update(modes(draft));
  out["detectLocalMode"] = draft.detect_local_mode.given() ? draft.detect_local_mode.value : "ClusterCIDR";
  out["detectLocal"] = Json{{"bridgeInterface", draft.bridge_interface.value},
                            {"interfaceNamePrefix", draft.interface_name_prefix.value}};
  out["clusterCIDR"] = draft.cluster_cidr.value;
  const bool primary =
      draft.node_port_addresses.empty() && mode_facts(mode).primary_node_ports && settings.node_ports.primary;
  out["nodePortAddresses"] = primary ? Json::array({"primary"}) : list(draft.node_port_addresses);
  out["oomScoreAdj"] = draft.oom_score_adj.value;
  out["conntrack"] = conntrack(draft.conntrack);
  out["configSyncPeriod"] = time(draft.config_sync_period);
  out["portRange"] = draft.port_range.value;
  if (draft.windows_run_as_service.value) out["windowsRunAsService"] = true;
  return out;
}

// Input may contain invalid UTF-8, which must not make the output fail.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Strings that YAML could parse as another type are quoted.
void emit(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [name, inner] : value.items()) {
      out << YAML::Key << name << YAML::Value;
      emit(out, inner);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::BeginSeq;
    for (const auto& inner : value) emit(out, inner);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    const bool is_duration = text.ends_with('s') && parse_duration(text).has_value();
    if (!is_duration) out << YAML::DoubleQuoted;
    out << text;
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << dump(value);
  }
}

void emit_text(YAML::Emitter& out, const char* name, const Sourced<std::string>& value) {
  if (value.given()) out << YAML::Key << name << YAML::Value << YAML::DoubleQuoted << value.value;
}

// Only the fields that are set.
void emit_sluice(YAML::Emitter& out, const Draft& draft) {
  out << YAML::BeginMap;
  out << YAML::Key << "apiVersion" << YAML::Value << std::string(kSluiceApi);
  out << YAML::Key << "kind" << YAML::Value << std::string(kSluiceKind);
  emit_text(out, "backend", draft.backend);
  if (!draft.sections.empty()) {
    out << YAML::Key << "backends" << YAML::Value << YAML::BeginMap;
    for (const auto& [id, section] : draft.sections) {
      out << YAML::Key << id << YAML::Value;
      if (section.value.yaml.empty())
        out << YAML::Null;
      else
        out << YAML::Load(section.value.yaml);
    }
    out << YAML::EndMap;
  }
  if (draft.drain_timeout.given()) out << YAML::Key << "drainTimeout" << YAML::Value << time(draft.drain_timeout);
  emit_text(out, "manifests", draft.manifests);
  emit_text(out, "master", draft.master);
  if (!draft.plugin_dirs.empty() && draft.plugin_dirs.front().given()) {
    out << YAML::Key << "pluginDirs" << YAML::Value;
    emit(out, list(draft.plugin_dirs));
  }
  emit_text(out, "record", draft.record);
  if (draft.relax_plugin_ownership.value) out << YAML::Key << "relaxPluginOwnership" << YAML::Value << true;
  emit_text(out, "replay", draft.replay);
  if (draft.replay_speed.given()) {
    out << YAML::Key << "replaySpeed" << YAML::Value << dump(number(draft.replay_speed.value));
  }
  emit_text(out, "stateDir", draft.state_dir);
  if (draft.udp_timeout.given()) out << YAML::Key << "udpTimeout" << YAML::Value << time(draft.udp_timeout);
  out << YAML::EndMap;
}

bool has_sluice_fields(const Draft& draft) {
  const bool texts = draft.backend.given() || draft.manifests.given() || draft.master.given() || draft.record.given() ||
                     draft.replay.given() || draft.state_dir.given();
  return texts || !draft.sections.empty() || draft.relax_plugin_ownership.value || draft.replay_speed.given() ||
         draft.udp_timeout.given() || draft.drain_timeout.given() ||
         (!draft.plugin_dirs.empty() && draft.plugin_dirs.front().given());
}

}  // namespace

std::string kube_proxy_json(const Draft& draft, const Settings& settings) { return dump(kube_proxy(draft, settings)); }

void warn_not_written(const Draft& draft, const Settings& settings, Problems& problems) {
  if (!settings.serve.healthz) {
    problems.warning(draft.healthz_port.where, "0 is not in the written file: no field turns the health server off");
  }
  if (!mode_facts(settings.backend).keeps_zero_period && settings.min_sync_period.count() == 0) {
    problems.warning(draft.iptables.min_sync_period.where, "0 means 1s in the written file; write 1ms there");
  }
}

std::string configuration_yaml(const Draft& draft, const Settings& settings) {
  YAML::Emitter out;
  // Through text, so that invalid UTF-8 is replaced as in the JSON.
  emit(out, Json::parse(kube_proxy_json(draft, settings)));
  std::string text = std::string(out.c_str()) + "\n";
  if (!has_sluice_fields(draft)) return text;
  YAML::Emitter second;
  emit_sluice(second, draft);
  return text + "---\n" + second.c_str() + "\n";
}

}  // namespace sluice::config
