// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/config/documents.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/app/config/nearest.hpp"

namespace sluice::app {
namespace {

using Reader = std::function<void(const ConfigNode&, Draft&)>;
using Fields = std::map<std::string_view, Reader>;

// Readers. Where kube-proxy has a default, an empty or zero value means that default.
Reader text(Sourced<std::string> Draft::*member) {
  return [member](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.text(); value && !value->empty()) (draft.*member).set(*value, node.where());
  };
}
Reader boolean(Sourced<bool> Draft::*member) {
  return [member](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.boolean()) (draft.*member).set(*value, node.where());
  };
}
Reader decimal(Sourced<double> Draft::*member) {
  return [member](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.decimal()) (draft.*member).set(*value, node.where());
  };
}
Reader texts(std::vector<Sourced<std::string>> Draft::*member) {
  return [member](const ConfigNode& node, Draft& draft) {
    if (auto values = node.texts(); !values.empty()) draft.*member = std::move(values);
  };
}
Reader number(ModeDraft Draft::*mode, Sourced<int> ModeDraft::*member) {
  return [mode, member](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.number()) (draft.*mode.*member).set(*value, node.where());
  };
}
Reader boolean(ModeDraft Draft::*mode, Sourced<bool> ModeDraft::*member) {
  return [mode, member](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.boolean()) (draft.*mode.*member).set(*value, node.where());
  };
}
Reader period(ModeDraft Draft::*mode, Sourced<Duration> ModeDraft::*member) {
  return [mode, member](const ConfigNode& node, Draft& draft) {
    if (const auto value = node.duration(); value && value->count() != 0) {
      (draft.*mode.*member).set(*value, node.where());
    }
  };
}
void ignored(const ConfigNode&, Draft&) {}

const Fields& kube_proxy_fields() {
  static const Fields fields = {
      {"apiVersion", ignored},
      {"kind", ignored},
      {"bindAddress", text(&Draft::bind_address)},
      {"clientConnection.acceptContentTypes", text(&Draft::accept_content_types)},
      {"clientConnection.burst",
       [](const ConfigNode& node, Draft& draft) {
         if (const auto value = node.number()) draft.burst.set(*value, node.where());
       }},
      {"clientConnection.contentType", text(&Draft::content_type)},
      {"clientConnection.kubeconfig", text(&Draft::kubeconfig)},
      {"clientConnection.qps", decimal(&Draft::qps)},
      {"clusterCIDR", text(&Draft::cluster_cidr)},
      {"configSyncPeriod",
       [](const ConfigNode& node, Draft& draft) {
         if (const auto value = node.duration(); value && value->count() != 0) {
           draft.config_sync_period.set(*value, node.where());
         }
       }},
      {"detectLocal.bridgeInterface", text(&Draft::bridge_interface)},
      {"detectLocal.interfaceNamePrefix", text(&Draft::interface_name_prefix)},
      {"detectLocalMode", text(&Draft::detect_local_mode)},
      {"hostnameOverride", text(&Draft::host_name)},
      {"iptables.localhostNodePorts", boolean(&Draft::localhost_node_ports)},
      {"iptables.masqueradeAll", boolean(&Draft::iptables, &ModeDraft::masquerade_all)},
      {"iptables.masqueradeBit", number(&Draft::iptables, &ModeDraft::masquerade_bit)},
      {"iptables.minSyncPeriod", period(&Draft::iptables, &ModeDraft::min_sync_period)},
      {"iptables.syncPeriod", period(&Draft::iptables, &ModeDraft::sync_period)},
      {"ipvs.minSyncPeriod", period(&Draft::ipvs, &ModeDraft::min_sync_period)},
      {"ipvs.syncPeriod", period(&Draft::ipvs, &ModeDraft::sync_period)},
      {"logging.format", text(&Draft::log_format)},
      {"logging.verbosity",
       [](const ConfigNode& node, Draft& draft) {
         if (const auto value = node.number()) draft.verbosity.set(*value, node.where());
       }},
      {"mode", text(&Draft::mode)},
      {"nftables.masqueradeAll", boolean(&Draft::nftables, &ModeDraft::masquerade_all)},
      {"nftables.masqueradeBit", number(&Draft::nftables, &ModeDraft::masquerade_bit)},
      {"nftables.minSyncPeriod", period(&Draft::nftables, &ModeDraft::min_sync_period)},
      {"nftables.syncPeriod", period(&Draft::nftables, &ModeDraft::sync_period)},
      {"nodePortAddresses", texts(&Draft::node_port_addresses)},
      // Fields that can have no effect here: the daemon writes each log line at once, and
      // runs on Linux only.
      {"logging.flushFrequency", ignored},
      {"windowsRunAsService", ignored},
      {"winkernel", ignored},
  };
  return fields;
}

// Fields of kube-proxy that this version does not support.
constexpr std::string_view kUnsupported[] = {"bindAddressHardFail",
                                             "conntrack.maxPerCore",
                                             "conntrack.min",
                                             "conntrack.tcpBeLiberal",
                                             "conntrack.tcpCloseWaitTimeout",
                                             "conntrack.tcpEstablishedTimeout",
                                             "conntrack.udpStreamTimeout",
                                             "conntrack.udpTimeout",
                                             "enableProfiling",
                                             "featureGates",
                                             "healthzBindAddress",
                                             "ipvs.excludeCIDRs",
                                             "ipvs.scheduler",
                                             "ipvs.strictARP",
                                             "ipvs.tcpFinTimeout",
                                             "ipvs.tcpTimeout",
                                             "ipvs.udpTimeout",
                                             "logging.options",
                                             "logging.vmodule",
                                             "metricsBindAddress",
                                             "oomScoreAdj",
                                             "portRange",
                                             "showHiddenMetricsForVersion"};

bool unsupported(std::string_view field) {
  return std::find(std::begin(kUnsupported), std::end(kUnsupported), field) != std::end(kUnsupported);
}

// "iptables" of "iptables.syncPeriod".
bool is_group(std::string_view field) {
  const auto below = [&](std::string_view name) {
    return name.size() > field.size() && name.starts_with(field) && name[field.size()] == '.';
  };
  return std::any_of(kube_proxy_fields().begin(), kube_proxy_fields().end(),
                     [&](const auto& entry) { return below(entry.first); }) ||
         std::any_of(std::begin(kUnsupported), std::end(kUnsupported), below);
}

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> out(std::begin(kUnsupported), std::end(kUnsupported));
  for (const auto& [name, reader] : kube_proxy_fields()) out.push_back(name);
  return out;
}

class KubeProxyReader {
 public:
  KubeProxyReader(bool strict, Draft& draft) : strict_(strict), draft_(draft) {}

  void read(const ConfigNode& map) {
    std::set<std::string> seen;
    for (const auto& member : map.members()) {
      const ConfigNode& node = member.node;
      if (!seen.insert(member.name).second) complain(node, "is given a second time", "; the last one counts");
      const auto reader = kube_proxy_fields().find(node.field());
      if (reader != kube_proxy_fields().end()) {
        reader->second(node, draft_);
      } else if (unsupported(node.field())) {
        if (!node.asks_for_nothing()) {
          complain(node, "this field is known from kube-proxy but not supported by this version of Sluice",
                   "; it is ignored");
        }
      } else if (is_group(node.field())) {
        read(node);
      } else {
        complain(node, "unknown field", "; it is ignored", suggestion(node.field(), known_names()));
      }
    }
  }

 private:
  // `consequence`: how the daemon goes on when it is but a warning.
  void complain(const ConfigNode& node, const std::string& text, const std::string& consequence,
                const std::string& advice = {}) const {
    if (strict_) {
      node.error(text + advice);
    } else {
      node.warning(text + consequence + advice);
    }
  }

  bool strict_;
  Draft& draft_;
};

// "a.b[0].c" -> text. The shape of the document was checked before.
void flatten(const YAML::Node& node, const std::string& key, std::map<std::string, std::string>& out) {
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "?";
      flatten(entry.second, key.empty() ? name : key + "." + name, out);
    }
  } else if (node.IsSequence()) {
    for (std::size_t i = 0; i < node.size(); ++i) flatten(node[i], key + "[" + std::to_string(i) + "]", out);
  } else {
    out[key] = node.IsScalar() ? node.Scalar() : "";
  }
}

void read_sections(const ConfigNode& map, Draft& draft) {
  for (const auto& member : map.members()) {
    const ConfigNode& node = member.node;
    if (draft.sections.find(member.name) != draft.sections.end()) {
      node.error("is given a second time; allowed: one section a backend");
      continue;
    }
    if (!node.yaml().IsMap() && !node.is_null()) {
      node.error("is no map; allowed: the settings of backend " + member.name + " as fields");
      continue;
    }
    BackendSection section;
    flatten(node.yaml(), "", section.options);
    section.options.erase("");  // what an empty section flattens to
    if (!node.is_null()) section.yaml = YAML::Dump(node.yaml());
    draft.sections[member.name] = {std::move(section), node.where()};
  }
}

const Fields& sluice_fields() {
  static const Fields fields = {
      {"apiVersion", ignored},
      {"backend", text(&Draft::backend)},
      {"backends", read_sections},
      {"kind", ignored},
      {"manifests", text(&Draft::manifests)},
      {"pluginDirs", texts(&Draft::plugin_dirs)},
      {"record", text(&Draft::record)},
      {"relaxPluginOwnership", boolean(&Draft::relax_plugin_ownership)},
      {"replay", text(&Draft::replay)},
      {"replaySpeed", decimal(&Draft::replay_speed)},
      {"stateDir", text(&Draft::state_dir)},
  };
  return fields;
}

}  // namespace

void read_kube_proxy_document(const ConfigNode& document, bool strict, Draft& draft) {
  // Upstream's default of ipvs differs from that of its flag.
  draft.ipvs.min_sync_period.value = Duration(0);
  KubeProxyReader(strict, draft).read(document);
}

void read_sluice_document(const ConfigNode& document, Draft& draft) {
  std::set<std::string> seen;
  for (const auto& member : document.members()) {
    const auto reader = sluice_fields().find(member.name);
    if (reader == sluice_fields().end()) {
      std::vector<std::string_view> names;
      std::string allowed;
      for (const auto& [name, unused] : sluice_fields()) {
        names.push_back(name);
        allowed += (allowed.empty() ? "" : ", ") + std::string(name);
      }
      member.node.error("unknown field; allowed: " + allowed + suggestion(member.name, names));
    } else if (!seen.insert(member.name).second) {
      member.node.error("is given a second time; allowed: once");
    } else {
      reader->second(member.node, draft);
    }
  }
}

}  // namespace sluice::app
