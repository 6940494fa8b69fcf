// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/documents.hpp"

#include <algorithm>
#include <set>

#include "core/config/kube_proxy_fields.hpp"
#include "sluice/sdk/nearest.hpp"

namespace sluice::config {
namespace {

using namespace field_readers;

// "conntrack" of "conntrack.min".
bool is_group(std::string_view field) {
  return std::any_of(kube_proxy_fields().begin(), kube_proxy_fields().end(), [&](const auto& entry) {
    const std::string_view name = entry.first;
    return name.size() > field.size() && name.starts_with(field) && name[field.size()] == '.';
  });
}

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> out;
  for (const auto& [name, reader] : kube_proxy_fields()) out.push_back(name);
  return out;
}

// "; did you mean X?" or nothing.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates) {
  const std::string_view nearest = sdk::nearest_name(name, candidates);
  return nearest.empty() ? std::string() : "; did you mean " + std::string(nearest) + "?";
}

class KubeProxyReader {
 public:
  KubeProxyReader(bool strict, Draft& draft) : strict_(strict), draft_(draft) {}

  void read(const ConfigNode& map) {
    std::set<std::string> names;
    for (const auto& member : map.members()) {
      const ConfigNode& node = member.node;
      if (!names.insert(member.name).second) report(node, "is given a second time", "; the last one counts");
      const auto reader = kube_proxy_fields().find(node.field());
      if (reader != kube_proxy_fields().end()) {
        reader->second(node, draft_);
      } else if (is_group(node.field())) {
        read(node);
      } else {
        report(node, "unknown field", "; it is ignored", suggestion(node.field(), known_names()));
      }
    }
  }

 private:
  // `consequence`: for a warning, how the daemon continues.
  void report(const ConfigNode& node, const std::string& text, const std::string& consequence,
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
    section.options.erase("");  // the entry of an empty section
    if (!node.is_null()) section.yaml = YAML::Dump(node.yaml());
    draft.sections[member.name] = {std::move(section), node.where()};
  }
}

// Unlike period(), it accepts zero.
void read_drain_timeout(const ConfigNode& node, Draft& draft) {
  if (const auto value = node.duration()) draft.drain_timeout.set(*value, node.where());
}

const Fields& sluice_fields() {
  static const Fields fields = {
      {"apiVersion", ignored},
      {"backend", text(&Draft::backend)},
      {"backends", read_sections},
      {"drainTimeout", read_drain_timeout},
      {"kind", ignored},
      {"manifests", text(&Draft::manifests)},
      {"master", text(&Draft::master)},
      {"pluginDirs", texts(&Draft::plugin_dirs)},
      {"record", text(&Draft::record)},
      {"relaxPluginOwnership", boolean(&Draft::relax_plugin_ownership)},
      {"replay", text(&Draft::replay)},
      {"replaySpeed", decimal(&Draft::replay_speed)},
      {"stateDir", text(&Draft::state_dir)},
      {"udpTimeout", period(&Draft::udp_timeout)},
  };
  return fields;
}

}  // namespace

void read_kube_proxy_document(const ConfigNode& document, bool strict, Draft& draft) {
  // In kube-proxy the default of this field differs from that of the flag.
  draft.ipvs.min_sync_period.value = Duration(0);
  KubeProxyReader(strict, draft).read(document);
  // The same for the addresses, in the file only.
  const auto bind = base::IpAddress::parse(draft.bind_address.value);
  if (bind && bind->family() == base::Family::ipv6) {
    if (!draft.healthz_address.given()) draft.healthz_address.value = "[::]:10256";
    if (!draft.metrics_address.given()) draft.metrics_address.value = "[::1]:10249";
  }
}

void read_sluice_document(const ConfigNode& document, Draft& draft) {
  std::set<std::string> read;
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
    } else if (!read.insert(member.name).second) {
      member.node.error("is given a second time; allowed: once");
    } else {
      reader->second(member.node, draft);
    }
  }
}

}  // namespace sluice::config
