// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/documents.hpp"

#include <algorithm>
#include <set>

#include "core/config/option_readers.hpp"
#include "lib/text.hpp"
#include "sluice/sdk/nearest.hpp"

namespace sluice::config {
namespace {

// "conntrack" of "conntrack.min".
bool is_group(std::string_view field) {
  const Fields& fields = fields_of(Document::kube_proxy);
  return std::any_of(fields.begin(), fields.end(), [&](const auto& entry) {
    const std::string_view name = entry.first;
    return name.size() > field.size() && name.starts_with(field) && name[field.size()] == '.';
  });
}

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> out;
  for (const auto& [name, option] : fields_of(Document::kube_proxy)) out.push_back(name);
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
      if (!names.insert(member.name).second) report(node, "is set twice", "; the last one counts");
      const auto field = fields_.find(node.field());
      if (field != fields_.end()) {
        if (field->second != nullptr) read_field(node, *field->second, draft_);
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

  const Fields& fields_ = fields_of(Document::kube_proxy);
  bool strict_;
  Draft& draft_;
};

}  // namespace

void read_kube_proxy_document(const ConfigNode& document, bool strict, Draft& draft) {
  KubeProxyReader(strict, draft).read(document);
  // In kube-proxy these defaults differ from those of the flags.
  const auto bind = lib::IpAddress::parse(draft.bind_address.value);
  if (bind && bind->family() == lib::Family::ipv6) {
    if (!draft.healthz_address.given()) draft.healthz_address.value = "[::]:10256";
    if (!draft.metrics_address.given()) draft.metrics_address.value = "[::1]:10249";
  }
}

void read_sluice_document(const ConfigNode& document, Draft& draft) {
  const Fields& fields = fields_of(Document::sluice);
  std::set<std::string> read;
  for (const auto& member : document.members()) {
    const auto field = fields.find(member.name);
    if (field == fields.end()) {
      std::vector<std::string_view> names;
      for (const auto& [name, unused] : fields) names.push_back(name);
      member.node.error("unknown field; allowed: " + lib::joined(names) + suggestion(member.name, names));
    } else if (!read.insert(member.name).second) {
      member.node.error("is set twice; allowed: once");
    } else if (field->second != nullptr) {
      read_field(member.node, *field->second, draft);
    }
  }
}

}  // namespace sluice::config
