// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/draft.hpp"

#include "core/config/file.hpp"
#include "core/config/values.hpp"

namespace sluice::config {
namespace {

std::string place(std::string_view flag) { return "--" + std::string(flag); }

// An empty value is ignored, as in kube-proxy.
void apply(const Flags& flags, std::string_view name, Sourced<std::string>& out) {
  if (const std::string value = flags.text(name); !value.empty()) out.set(value, place(name));
}
void apply(const Flags& flags, std::string_view name, Sourced<bool>& out) {
  if (flags.given(name)) out.set(flags.on(name), place(name));
}
void apply(const Flags& flags, std::string_view name, Sourced<int>& out) {
  if (const auto value = parse_number(flags.text(name))) out.set(*value, place(name));
}
void apply(const Flags& flags, std::string_view name, Sourced<double>& out) {
  if (const auto value = parse_decimal(flags.text(name))) out.set(*value, place(name));
}
void apply(const Flags& flags, std::string_view name, Sourced<Duration>& out) {
  if (const auto value = parse_duration(flags.text(name))) out.set(*value, place(name));
}
void apply(const Flags& flags, std::string_view name, std::vector<Sourced<std::string>>& out) {
  if (!flags.given(name)) return;
  out.clear();
  for (const std::string& value : flags.values(name)) out.push_back({value, place(name)});
}

void apply_process_flags(const Flags& flags, Draft& draft) {
  apply(flags, "feature-gates", draft.feature_gates);
  apply(flags, "healthz-bind-address", draft.healthz_address);
  apply(flags, "healthz-port", draft.healthz_port);
  apply(flags, "metrics-bind-address", draft.metrics_address);
  apply(flags, "metrics-port", draft.metrics_port);
  apply(flags, "bind-address-hard-fail", draft.bind_address_hard_fail);
  apply(flags, "profiling", draft.profiling);
  apply(flags, "show-hidden-metrics-for-version", draft.show_hidden_metrics);
  apply(flags, "oom-score-adj", draft.oom_score_adj);
  apply(flags, "boot-id-file", draft.boot_id_file);
  apply(flags, "machine-id-file", draft.machine_id_file);
  ConntrackDraft& conntrack = draft.conntrack;
  apply(flags, "conntrack-max-per-core", conntrack.max_per_core);
  apply(flags, "conntrack-min", conntrack.min);
  apply(flags, "conntrack-tcp-timeout-established", conntrack.tcp_established_timeout);
  apply(flags, "conntrack-tcp-timeout-close-wait", conntrack.tcp_close_wait_timeout);
  apply(flags, "conntrack-tcp-be-liberal", conntrack.tcp_be_liberal);
  apply(flags, "conntrack-udp-timeout", conntrack.udp_timeout);
  apply(flags, "conntrack-udp-timeout-stream", conntrack.udp_stream_timeout);
}

void apply_mode_flags(const Flags& flags, Draft& draft) {
  apply(flags, "ipvs-sync-period", draft.ipvs.sync_period);
  apply(flags, "ipvs-min-sync-period", draft.ipvs.min_sync_period);
  apply(flags, "ipvs-scheduler", draft.ipvs_mode.scheduler);
  apply(flags, "ipvs-exclude-cidrs", draft.ipvs_mode.exclude_cidrs);
  apply(flags, "ipvs-strict-arp", draft.ipvs_mode.strict_arp);
  apply(flags, "ipvs-tcp-timeout", draft.ipvs_mode.tcp_timeout);
  apply(flags, "ipvs-tcpfin-timeout", draft.ipvs_mode.tcp_fin_timeout);
  apply(flags, "ipvs-udp-timeout", draft.ipvs_mode.udp_timeout);
  apply(flags, "proxy-port-range", draft.port_range);
  apply(flags, "udp-timeout", draft.udp_timeout);
}

// Flags that apply only without a configuration file.
void apply_flags_of_file(const Flags& flags, Draft& draft) {
  apply(flags, "kubeconfig", draft.kubeconfig);
  apply(flags, "kube-api-qps", draft.qps);
  apply(flags, "kube-api-burst", draft.burst);
  apply(flags, "kube-api-content-type", draft.content_type);
  apply(flags, "bind-address", draft.bind_address);
  apply(flags, "nodeport-addresses", draft.node_port_addresses);
  apply(flags, "proxy-mode", draft.mode);
  apply(flags, "detect-local-mode", draft.detect_local_mode);
  apply(flags, "pod-bridge-interface", draft.bridge_interface);
  apply(flags, "pod-interface-name-prefix", draft.interface_name_prefix);
  apply(flags, "cluster-cidr", draft.cluster_cidr);
  apply(flags, "iptables-localhost-nodeports", draft.localhost_node_ports);
  apply(flags, "config-sync-period", draft.config_sync_period);
  // These flags of kube-proxy apply to all modes, despite their names, but the periods of ipvs mode have their own
  // flags. The nftables bit has no flag.
  for (ModeDraft* mode : {&draft.iptables, &draft.nftables}) {
    apply(flags, "masquerade-all", mode->masquerade_all);
    apply(flags, "iptables-sync-period", mode->sync_period);
    apply(flags, "iptables-min-sync-period", mode->min_sync_period);
  }
  apply(flags, "iptables-masquerade-bit", draft.iptables.masquerade_bit);
  apply_process_flags(flags, draft);
  apply_mode_flags(flags, draft);
}

void apply_flags_over_file(const Flags& flags, Draft& draft) {
  apply(flags, "master", draft.master);
  apply(flags, "manifests", draft.manifests);
  apply(flags, "replay", draft.replay);
  apply(flags, "replay-speed", draft.replay_speed);
  apply(flags, "record", draft.record);
  // validate() rejects a value of blanks, so this must not ignore it.
  apply(flags, "hostname-override", draft.host_name);
  apply(flags, "plugin-dir", draft.plugin_dirs);
  apply(flags, "state-dir", draft.state_dir);
  apply(flags, "v", draft.verbosity);
  apply(flags, "logging-format", draft.log_format);
  apply(flags, "log-flush-frequency", draft.log_flush_frequency);
  // Patterns are appended to those of the file, as in kube-proxy.
  for (const std::string& pattern : flags.values("vmodule")) draft.vmodule.push_back({pattern, place("vmodule")});
  apply(flags, "log-text-split-stream", draft.log_text.split);
  apply(flags, "log-text-info-buffer-size", draft.log_text.buffer);
  apply(flags, "log-json-split-stream", draft.log_json.split);
  apply(flags, "log-json-info-buffer-size", draft.log_json.buffer);
}

}  // namespace

PluginSettings Draft::plugins() const {
  PluginSettings out;
  for (const auto& folder : plugin_dirs) out.folders.push_back(folder.value);
  out.relax_ownership = relax_plugin_ownership.value;
  return out;
}

LogSettings Draft::log() const {
  LogSettings out;
  out.verbosity = verbosity.value;
  out.format = log_format.value == "json" ? LogFormat::json : LogFormat::text;
  out.flush_frequency = log_flush_frequency.value;
  const StreamDraft& stream = out.format == LogFormat::json ? log_json : log_text;
  out.split_stream = stream.split.value;
  out.info_buffer_size = static_cast<std::size_t>(parse_quantity(stream.buffer.value).value_or(0));
  for (const auto& entry : vmodule) {
    const auto equals = entry.value.rfind('=');
    if (equals == std::string::npos) continue;
    if (const auto level = parse_number(entry.value.substr(equals + 1))) {
      out.vmodule.push_back({entry.value.substr(0, equals), *level});
    }
  }
  return out;
}

Draft read_configuration(const Flags& flags, const Defaults& defaults, Problems& problems) {
  Draft draft;
  draft.state_dir.value = defaults.state_dir;
  for (const std::string& folder : defaults.plugin_dirs) draft.plugin_dirs.push_back({folder, {}});

  draft.flags = flag_values(flags);
  draft.config_file = flags.text("config");
  draft.strict = flags.action() == Action::check;
  if (draft.config_file.empty()) {
    apply_flags_of_file(flags, draft);
  } else {
    std::string ignored;
    for (const std::string& flag : flags.ignored_with_file()) ignored += (ignored.empty() ? "" : ", ") + flag;
    if (!ignored.empty()) problems.warning("--config", "these flags are ignored because a file is given: " + ignored);
    read_config_file(draft.config_file, {.strict = draft.strict}, draft, problems);
  }
  apply_flags_over_file(flags, draft);
  return draft;
}

}  // namespace sluice::config
