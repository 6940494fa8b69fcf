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
  void refuse(const char* setting, const std::string& why) { out_.push_back({setting, SettingsPart::none, why}); }

  std::vector<SettingsChange> take() { return std::move(out_); }

 private:
  std::vector<SettingsChange> out_;
};

constexpr const char* kRestart = "; restart sluiced (this closes only connections relayed in userspace mode)";

base::Family primary_family(const config::Settings& settings) {
  return node::choose_node_ips({}, settings.bind_address).primary;
}

// Each structured binding below names all fields of its structure, so that a new field does not compile until its
// changes are handled.

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

void compare_serve(const config::ServeSettings& a, const config::ServeSettings& b, Changes& out) {
  const auto& [healthz, metrics, bind_address_hard_fail, profiling, flagz, statusz] = a;
  out.compare("healthzBindAddress", SettingsPart::serve, healthz, b.healthz);
  out.compare("metricsBindAddress", SettingsPart::serve, metrics, b.metrics);
  out.compare("bindAddressHardFail", SettingsPart::serve, bind_address_hard_fail, b.bind_address_hard_fail);
  out.compare("enableProfiling", SettingsPart::serve, profiling, b.profiling);
  out.compare("featureGates.ComponentFlagz", SettingsPart::serve, flagz, b.flagz);
  out.compare("featureGates.ComponentStatusz", SettingsPart::serve, statusz, b.statusz);
}

// Only the section of the active backend matters.
void compare_sections(const config::Settings& a, const config::Settings& b, Changes& out) {
  if (a.sections == b.sections) return;
  const bool in_use = a.backend == b.backend && !(a.section() == b.section());
  out.compare("backends", in_use ? SettingsPart::backend : SettingsPart::none, a.sections, b.sections);
}

}  // namespace

std::vector<SettingsChange> settings_diff(const config::Settings& from, const config::Settings& to) {
  Changes out;
  const auto& [config_file, source, node_name, backend, backend_reason, plugins, state_dir, drain_timeout,
               local_detector, node_ports, localhost_node_ports, masquerade_all, masquerade_bit, bind_address,
               sync_period, min_sync_period, serve, conntrack, oom_score_adj, allow_external_ips, log,
               kube_proxy_configuration, sections, flags, mode_options] = from;
  out.compare("config", SettingsPart::none, config_file, to.config_file);
  compare_source(source, to.source, out);
  out.refuse("hostnameOverride", node_name, to.node_name,
             "the node is " + node_name + ", and rules and Services were chosen for it; restart sluiced to make it " +
                 to.node_name);
  out.compare("mode", SettingsPart::backend, backend, to.backend);
  out.compare("mode", SettingsPart::none, backend_reason, to.backend_reason);
  const auto& [folders, relax_ownership] = plugins;
  out.compare("pluginDirs", SettingsPart::backend, folders, to.plugins.folders);
  out.compare("relaxPluginOwnership", SettingsPart::backend, relax_ownership, to.plugins.relax_ownership);
  out.refuse("stateDir", state_dir, to.state_dir, "the saved state is in " + state_dir + kRestart);
  out.compare("drainTimeout", SettingsPart::none, drain_timeout, to.drain_timeout);  // for the next swap
  out.compare("detectLocal", SettingsPart::backend, local_detector, to.local_detector);
  out.compare("nodePortAddresses", SettingsPart::backend, node_ports, to.node_ports);
  out.compare("iptables.localhostNodePorts", SettingsPart::backend, localhost_node_ports, to.localhost_node_ports);
  out.compare("masqueradeAll", SettingsPart::backend, masquerade_all, to.masquerade_all);
  out.compare("masqueradeBit", SettingsPart::backend, masquerade_bit, to.masquerade_bit);
  if (primary_family(from) != primary_family(to)) {
    out.refuse("bindAddress", "the primary family is " + std::string(base::family_name(primary_family(from))) +
                                  " and cannot become " + std::string(base::family_name(primary_family(to))) +
                                  " while it runs" + kRestart);
  } else {
    out.compare("bindAddress", SettingsPart::backend, bind_address, to.bind_address);
  }
  out.compare("syncPeriod", SettingsPart::backend, sync_period, to.sync_period);
  out.compare("minSyncPeriod", SettingsPart::backend, min_sync_period, to.min_sync_period);
  compare_serve(serve, to.serve, out);
  out.compare("conntrack", SettingsPart::kernel, conntrack, to.conntrack);
  out.compare("oomScoreAdj", SettingsPart::kernel, oom_score_adj, to.oom_score_adj);
  out.compare("featureGates.AllowServiceExternalIPs", SettingsPart::backend, allow_external_ips, to.allow_external_ips);
  out.compare("logging", SettingsPart::logging, log, to.log);
  // Only displayed, or the source of other fields.
  out.compare("configz", SettingsPart::none, kube_proxy_configuration, to.kube_proxy_configuration);
  compare_sections(from, to, out);
  out.compare("flags", SettingsPart::none, flags, to.flags);
  out.compare("mode options", SettingsPart::backend, mode_options, to.mode_options);
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
