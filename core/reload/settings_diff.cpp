// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/reload/settings_diff.hpp"

#include <algorithm>

#include "core/node/node_ips.hpp"

namespace sluice::reload {
namespace {

class Changes {
 public:
  template <class T>
  void compare(const char* setting, SettingsPart part, const T& from, const T& to) {
    if (!(from == to)) out_.push_back({setting, part, {}});
  }
  // The same for a setting that cannot be applied live.
  template <class T>
  void refuse(const char* setting, const T& from, const T& to, const std::string& why) {
    if (!(from == to)) out_.push_back({setting, SettingsPart::none, why});
  }
  // The options of a group that have a member of Settings; a name once.
  void compare_options(config::FlagGroup group, const config::Settings& from, const config::Settings& to) {
    for (const config::Option& option : config::options()) {
      if (option.group != group || option.setting.get == nullptr) continue;
      if (option.setting.get(from) == option.setting.get(to)) continue;
      const std::string name(option.change_name.empty() ? option.field : option.change_name);
      if (out_.empty() || out_.back().setting != name) out_.push_back({name, option.part, {}});
    }
  }
  void refuse(const char* setting, const std::string& why) { out_.push_back({setting, SettingsPart::none, why}); }

  std::vector<SettingsChange> take() { return std::move(out_); }

 private:
  std::vector<SettingsChange> out_;
};

constexpr const char* kRestart = "; restart sluiced (this closes only connections relayed in userspace mode)";

lib::Family primary_family(const config::Settings& settings) {
  return node::choose_node_ips({}, settings.bind_address).primary;
}

// Each structured binding names all fields of its structure, so that a new field does not compile until its changes
// are handled.
void compare_source(const config::SourceSettings& a, const config::SourceSettings& b, Changes& out) {
  const auto& [kind, kubeconfig, master, manifests, replay, replay_speed, record, client] = a;
  if ((kind == config::SourceKind::replay) != (b.kind == config::SourceKind::replay)) {
    out.refuse("replay", std::string("a replay must start with an empty daemon") + kRestart);
  } else {
    out.compare("source", SettingsPart::source, kind, b.kind);
    out.refuse("replay", replay, b.replay, std::string("a running replay cannot be changed") + kRestart);
    out.refuse("replaySpeed", replay_speed, b.replay_speed,
               std::string("a running replay cannot be changed") + kRestart);
  }
  out.compare("clientConnection.kubeconfig", SettingsPart::source, kubeconfig, b.kubeconfig);
  out.compare("master", SettingsPart::source, master, b.master);
  out.compare("manifests", SettingsPart::source, manifests, b.manifests);
  out.refuse("record", record, b.record, std::string("a recording must begin with the full state") + kRestart);
  const auto& [qps, burst] = client;
  out.compare("clientConnection.qps", SettingsPart::source, qps, b.client.qps);
  out.compare("clientConnection.burst", SettingsPart::source, burst, b.client.burst);
}

void compare_serve(const config::Settings& from, const config::Settings& to, Changes& out) {
  const config::ServeSettings& a = from.serve;
  const config::ServeSettings& b = to.serve;
  out.compare("healthzBindAddress", SettingsPart::serve, a.healthz, b.healthz);
  out.compare("metricsBindAddress", SettingsPart::serve, a.metrics, b.metrics);
  out.compare_options(config::FlagGroup::serving, from, to);
  out.compare("featureGates.ComponentFlagz", SettingsPart::serve, a.flagz, b.flagz);
  out.compare("featureGates.ComponentStatusz", SettingsPart::serve, a.statusz, b.statusz);
}

// Only the section of the active backend matters.
void compare_sections(const config::Settings& a, const config::Settings& b, Changes& out) {
  if (a.sections == b.sections) return;
  const bool in_use = a.backend == b.backend && !(a.section() == b.section());
  out.compare("backends", in_use ? SettingsPart::backend : SettingsPart::none, a.sections, b.sections);
}

}  // namespace

std::vector<SettingsChange> settings_diff(const config::Settings& from, const config::Settings& to) {
  using enum SettingsPart;
  using config::FlagGroup;
  Changes out;
  out.compare("config", none, from.config_file, to.config_file);
  compare_source(from.source, to.source, out);
  out.refuse("hostnameOverride", from.node_name, to.node_name,
             "the node is " + from.node_name +
                 ", and rules and Services were chosen for it; restart sluiced to make it " + to.node_name);
  out.compare("mode", backend, from.backend, to.backend);
  out.compare("mode", none, from.backend_reason, to.backend_reason);
  out.compare("pluginDirs", backend, from.plugins.folders, to.plugins.folders);
  out.compare_options(FlagGroup::backend, from, to);
  out.refuse("stateDir", from.state_dir, to.state_dir, "the saved state is in " + from.state_dir + kRestart);
  out.compare("detectLocal", backend, from.local_detector, to.local_detector);
  out.compare("nodePortAddresses", backend, from.node_ports, to.node_ports);
  out.compare("iptables.localhostNodePorts", backend, from.localhost_node_ports, to.localhost_node_ports);
  out.compare("masqueradeAll", backend, from.masquerade_all, to.masquerade_all);
  out.compare("masqueradeBit", backend, from.masquerade_bit, to.masquerade_bit);
  if (primary_family(from) != primary_family(to)) {
    out.refuse("bindAddress", "the primary family is " + std::string(lib::family_name(primary_family(from))) +
                                  " and cannot become " + std::string(lib::family_name(primary_family(to))) +
                                  " while it runs" + kRestart);
  } else {
    out.compare("bindAddress", backend, from.bind_address, to.bind_address);
  }
  out.compare("syncPeriod", backend, from.sync_period, to.sync_period);
  out.compare("minSyncPeriod", backend, from.min_sync_period, to.min_sync_period);
  compare_serve(from, to, out);
  out.compare_options(FlagGroup::conntrack, from, to);
  out.compare_options(FlagGroup::node, from, to);
  out.compare("featureGates.AllowServiceExternalIPs", backend, from.allow_external_ips, to.allow_external_ips);
  out.compare("logging", logging, from.log, to.log);
  // Only displayed, or the source of other fields.
  out.compare("configz", none, from.kube_proxy_configuration, to.kube_proxy_configuration);
  compare_sections(from, to, out);
  out.compare("flags", none, from.flags, to.flags);
  out.compare("mode options", backend, from.mode_options, to.mode_options);
  return out.take();
}

bool concerns(const std::vector<SettingsChange>& changes, SettingsPart part) {
  return std::any_of(changes.begin(), changes.end(), [part](const auto& change) { return change.part == part; });
}

std::vector<std::string> refusals(const std::vector<SettingsChange>& changes) {
  std::vector<std::string> out;
  for (const auto& change : changes) {
    if (!change.refusal.empty()) out.push_back(change.setting + ": " + change.refusal);
  }
  return out;
}

}  // namespace sluice::reload
