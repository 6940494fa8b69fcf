// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/file.hpp"

#include <vector>

#include "core/config/documents.hpp"
#include "core/config/yaml_node.hpp"
#include "core/kube/manifests/yaml_check.hpp"
#include "lib/files.hpp"

namespace sluice::config {
namespace {

constexpr std::size_t kFileLimit = 4u << 20;
constexpr int kDepthLimit = 64;
constexpr int kNodeLimit = 100'000;

// Aliases can expand a small text to an endless or huge tree; this check makes later walks safe.
bool has_sane_shape(const YAML::Node& node, int depth, int& nodes) {
  if (depth > kDepthLimit || ++nodes > kNodeLimit) return false;
  if (!node.IsMap() && !node.IsSequence()) return true;
  for (const auto& entry : node) {
    if (!has_sane_shape(node.IsMap() ? entry.second : YAML::Node(entry), depth + 1, nodes)) return false;
  }
  return true;
}

std::string kinds_allowed() {
  return "allowed: " + std::string(kKubeProxyKind) + " of " + std::string(kKubeProxyApi) + ", then " +
         std::string(kSluiceKind) + " of " + std::string(kSluiceApi);
}

class Stream {
 public:
  Stream(const ConfigFileOptions& options, Draft& draft) : options_(options), draft_(draft) {}

  void read(const ConfigNode& document) {
    const std::string api = type_field(document, "apiVersion");
    const std::string kind = type_field(document, "kind");
    if (api == kKubeProxyApi && kind == kKubeProxyKind) {
      if (once(document, has_kube_proxy_, kKubeProxyKind) && has_sluice_) {
        document.error("must be the first document, because kube-proxy reads no other; move " +
                       std::string(kSluiceKind) + " behind it");
      }
      read_kube_proxy_document(document, options_.strict, draft_);
    } else if (api == kSluiceApi && kind == kSluiceKind) {
      once(document, has_sluice_, kSluiceKind);
      read_sluice_document(document, draft_);
    } else {
      draft_.whole = false;
      document.error("is kind '" + kind + "' of apiVersion '" + api + "'; " + kinds_allowed());
    }
  }

 private:
  static std::string type_field(const ConfigNode& document, std::string_view name) {
    if (!document.yaml().IsMap()) return {};
    const YAML::Node value = document.yaml()[std::string(name)];
    return value.IsDefined() && value.IsScalar() ? value.Scalar() : std::string();
  }
  static bool once(const ConfigNode& document, bool& has_kind, std::string_view kind) {
    if (has_kind) document.error("a second " + std::string(kind) + "; allowed: one");
    const bool first = !has_kind;
    has_kind = true;
    return first;
  }

  const ConfigFileOptions& options_;
  Draft& draft_;
  bool has_kube_proxy_ = false;
  bool has_sluice_ = false;
};

}  // namespace

void read_config_text(const std::string& text, const std::string& name, const ConfigFileOptions& options, Draft& draft,
                      Problems& problems) {
  draft.whole = false;
  const auto not_yaml = [&](int line, const std::string& why) {
    problems.error(line > 0 ? name + ":" + std::to_string(line) : name, "is not valid YAML: " + why);
  };
  // Check first without a tree: LoadAll never ends for some texts (a stray bracket).
  if (const auto problem = kube::check_yaml(text)) return not_yaml(problem->line, problem->text);
  std::vector<YAML::Node> documents;
  try {
    documents = YAML::LoadAll(text);
  } catch (const YAML::Exception& e) {
    return not_yaml(e.mark.line + 1, e.msg);  // the mark of an error without a place has line -1
  }
  draft.whole = true;
  Stream stream(options, draft);
  bool any = false;
  for (const YAML::Node& document : documents) {
    if (document.IsNull()) continue;  // "---" twice, or comments only
    any = true;
    const ConfigNode node(document, "", name, problems);
    int nodes = 0;
    if (!has_sane_shape(document, 0, nodes)) {
      node.error("is nested too deeply or too large; allowed: " + std::to_string(kDepthLimit) + " levels and " +
                 std::to_string(kNodeLimit) + " values, aliases counted each time");
      draft.whole = false;
      return;
    }
    stream.read(node);
  }
  if (any) return;
  draft.whole = false;
  problems.error(name, "is empty; " + kinds_allowed());
}

void read_config_file(const std::string& path, const ConfigFileOptions& options, Draft& draft, Problems& problems) {
  const lib::Result<std::string> text = lib::read_file(path, kFileLimit);
  if (!text) {
    draft.whole = false;
    problems.error("--config", text.status().message());
    return;
  }
  read_config_text(*text, path, options, draft, problems);
}

}  // namespace sluice::config
