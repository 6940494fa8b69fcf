// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/config/draft.hpp"

#include "core/app/config/file.hpp"
#include "core/app/config/values.hpp"

namespace sluice::app {
namespace {

std::string place(std::string_view flag) { return "--" + std::string(flag); }

// An empty value leaves what was there, as kube-proxy does it.
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

// Flags that count only when there is no file.
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
  // On the command line the names say iptables, but they speak of every mode except
  // ipvs, whose bit and masquerading they still set. The nftables bit has no flag.
  for (ModeDraft* mode : {&draft.iptables, &draft.nftables}) {
    apply(flags, "masquerade-all", mode->masquerade_all);
    apply(flags, "iptables-sync-period", mode->sync_period);
    apply(flags, "iptables-min-sync-period", mode->min_sync_period);
  }
  apply(flags, "iptables-masquerade-bit", draft.iptables.masquerade_bit);
}

void apply_flags_over_file(const Flags& flags, Draft& draft) {
  apply(flags, "master", draft.master);
  apply(flags, "manifests", draft.manifests);
  apply(flags, "replay", draft.replay);
  apply(flags, "replay-speed", draft.replay_speed);
  apply(flags, "record", draft.record);
  // Blanks only is an error later, so it must not be taken for "not given" here.
  apply(flags, "hostname-override", draft.host_name);
  apply(flags, "plugin-dir", draft.plugin_dirs);
  apply(flags, "state-dir", draft.state_dir);
  apply(flags, "v", draft.verbosity);
  apply(flags, "logging-format", draft.log_format);
}

}  // namespace

PluginSettings Draft::plugins() const {
  PluginSettings out;
  for (const auto& folder : plugin_dirs) out.folders.push_back(folder.value);
  out.relax_ownership = relax_plugin_ownership.value;
  return out;
}

LogSettings Draft::log() const {
  return {verbosity.value, log_format.value == "json" ? LogFormat::json : LogFormat::text};
}

Draft read_configuration(const Flags& flags, const Defaults& defaults, Problems& problems) {
  Draft draft;
  draft.state_dir.value = defaults.state_dir;
  for (const std::string& folder : defaults.plugin_dirs) draft.plugin_dirs.push_back({folder, {}});

  draft.config_file = flags.text("config");
  if (draft.config_file.empty()) {
    apply_flags_of_file(flags, draft);
  } else {
    std::string ignored;
    for (const std::string& flag : flags.ignored_with_file()) ignored += (ignored.empty() ? "" : ", ") + flag;
    if (!ignored.empty()) problems.warning("--config", "these flags are ignored because a file is given: " + ignored);
    read_config_file(draft.config_file, {.strict = flags.action() == Action::check}, draft, problems);
  }
  apply_flags_over_file(flags, draft);
  return draft;
}

}  // namespace sluice::app
