// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/manifests/manifest_documents.hpp"

#include <map>
#include <optional>
#include <utility>

#include "core/kube/manifests/yaml_line.hpp"
#include "core/kube/manifests/yaml_to_json.hpp"
#include "core/kube/watch/item_splitter.hpp"

namespace sluice::kube {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
// Large, because a whole List counts as one object here.
constexpr std::size_t kMaxDocumentBytes = 1u << 30;

// v1beta1 ServiceCIDRs have the same fields as v1.
bool is_version_of(model::ResourceKind kind, std::string_view api_version) {
  return api_version == model::resource_api_version(kind) ||
         (kind == model::ResourceKind::service_cidr && api_version == "networking.k8s.io/v1beta1");
}

std::optional<model::ResourceKind> proxy_kind(std::string_view api_version, std::string_view kind) {
  for (const auto candidate : model::kResourceKinds) {
    if (kind == model::resource_kind_name(candidate) && is_version_of(candidate, api_version)) return candidate;
  }
  return std::nullopt;
}

// The default apiVersion of the items of a typed list.
std::string_view version_in_list(std::string_view kind) {
  for (const auto candidate : model::kResourceKinds) {
    if (kind == model::resource_kind_name(candidate)) return model::resource_api_version(candidate);
  }
  return "v1";
}

// The error for a supported kind with a wrong apiVersion.
std::string wrong_version(std::string_view api_version, std::string_view kind) {
  for (const auto candidate : model::kResourceKinds) {
    if (kind != model::resource_kind_name(candidate)) continue;
    const std::string right(model::resource_api_version(candidate));
    if (is_version_of(candidate, api_version)) return {};
    if (api_version.empty()) return "is missing; write apiVersion: " + right;
    // Kinds of the same name in other API groups (Knative has a Service, too) are ignored.
    const std::string group = right.substr(0, right.find('/') + 1);
    if (!group.empty() && api_version.starts_with(group)) {
      return "\"" + std::string(api_version) + "\" is not supported; write " + right;
    }
  }
  return {};
}

// A document of the file, or an item of a List in it.
struct Document {
  int number = 0;
  int line = 0;      // 0 = unknown
  std::string item;  // "items[3]"; empty for a document
  std::string_view json;
};

class FileReader {
 public:
  FileReader(const std::string& path, const std::string& text, const std::string& node_name,
             const model::WantedDetailsPtr& details)
      : path_(path),
        text_(text),
        node_name_(node_name),
        decoder_({.apply_server_defaults = true, .details = details}) {}

  ManifestContent read() {
    const auto first = text_.find_first_not_of(kSpace);
    if (first == std::string::npos) return std::move(out_);
    const bool only_json = path_.ends_with(".json");
    // JSON is valid YAML, but the JSON parser is many times faster and supports all escapes.
    if (only_json || text_[first] == '{') {
      std::vector<std::string_view> documents;
      const lib::Status status = split_json(documents);
      if (status.ok() || only_json) {
        for (std::size_t i = 0; i < documents.size(); ++i)
          read_document({static_cast<int>(i) + 1, 0, "", documents[i]});
        if (!status.ok()) error({static_cast<int>(documents.size()) + 1, 0, "", {}}, "", status.message());
        return std::move(out_);
      }
    }
    const YamlStream stream = yaml_to_json(text_);
    for (const auto& document : stream.documents) read_document({document.number, document.line, "", document.json});
    for (const auto& broken : stream.errors) {
      error({broken.document, broken.line, "", {}}, "", broken.problem + "; correct the YAML");
    }
    return std::move(out_);
  }

 private:
  // Fails if the text is not JSON: YAML may start with a brace, too.
  lib::Status split_json(std::vector<std::string_view>& documents) {
    DocumentSplitter splitter(
        [&](std::string_view document) {
          const auto [envelope, is_list] = without_items(document);
          const auto head = decoder_.head(envelope);
          if (!head && head.status().code() == lib::StatusCode::unsupported) return head.status();
          documents.push_back(document);
          return lib::Status();
        },
        kMaxDocumentBytes);
    if (auto status = splitter.append(text_); !status.ok()) return status;
    if (!splitter.at_boundary()) return lib::invalid("the text ends in the middle of an object; complete the file");
    return {};
  }

  // The document without the items of a List, so that its size costs no memory.
  std::pair<std::string, bool> without_items(std::string_view document) {
    ListSplitter splitter([](std::string_view) { return lib::Status(); });
    if (splitter.append(document).ok() && splitter.items() != 0) {
      if (auto envelope = splitter.finish()) return {std::move(*envelope), true};
    }
    return {std::string(document), false};
  }

  void read_document(const Document& document) {
    const auto [envelope, is_list] = without_items(document.json);
    const auto head = decoder_.head(envelope);
    if (!head) {
      error(document, "", "is not a Kubernetes object: " + head.status().message());
    } else if (head->kind.ends_with("List")) {
      if (is_list) read_list(document, head->kind.substr(0, head->kind.size() - 4));
    } else {
      read_single(document, *head);
    }
  }

  void read_list(const Document& document, const std::string& item_kind) {
    std::size_t index = 0;
    ListSplitter splitter([&](std::string_view element) {
      const Document item{document.number, 0, "items[" + std::to_string(index++) + "]", element};
      auto head = decoder_.head(element);
      if (!head) {
        error(item, "", "is not a Kubernetes object: " + head.status().message());
        return lib::Status();
      }
      // Items of a typed list (ServiceList) may omit kind and apiVersion.
      if (head->kind.empty() && !item_kind.empty()) {
        head->kind = item_kind;
        head->api_version = version_in_list(item_kind);
      }
      read_single(item, *head);
      return lib::Status();
    });
    const auto status = splitter.append(document.json);
    if (!status.ok()) error(document, "items", status.message());
  }

  void read_single(const Document& document, const ObjectHead& head) {
    if (head.kind.empty()) {
      error(document, "kind", "is missing; say which kind of object this is");
      return;
    }
    if (const auto wrong = wrong_version(head.api_version, head.kind); !wrong.empty()) {
      error(document, "apiVersion", wrong);
      return;
    }
    const auto kind = proxy_kind(head.api_version, head.kind);
    const std::string object = head.kind + " " + head.name.to_string();
    if (!kind) {
      skip(document, object + " is of a kind that a proxy does not need");
    } else if (*kind == model::ResourceKind::service && head.other_proxy) {
      skip(document, object + " belongs to another proxy, as its label service.kubernetes.io/service-proxy-name says");
    } else if (*kind == model::ResourceKind::endpoint_slice && head.headless) {
      skip(document, object + " belongs to a headless Service, as its label service.kubernetes.io/headless says");
    } else if (*kind == model::ResourceKind::node && head.name.name != node_name_) {
      skip(document, object + " is not this node");
    } else {
      read_object(document, *kind);
    }
  }

  void read_object(const Document& document, model::ResourceKind kind) {
    Decoded decoded = decoder_.object(kind, document.json);
    const ManifestKey key{kind, decoded.name};
    const std::string title = key.name.name.empty() ? std::string(model::resource_kind_name(kind)) : key.to_string();
    for (const auto& note : decoded.notes) {
      const std::string field = note.substr(0, note.find(": "));
      out_.notes.push_back(place(document, field) + title + ": " + note);
    }
    if (const auto* failed = std::get_if<Failed>(&decoded.result)) {
      refuse(document, key, failed->path, failed->problem);
      return;
    }
    if (const auto* ignored = std::get_if<Ignored>(&decoded.result)) {
      skip(document, title + " is ignored: " + ignored->reason);
      return;
    }
    auto& object = std::get<Object>(decoded.result);
    if (const auto* service = std::get_if<model::Service>(&object)) {
      if (service->headless) {
        skip(document, title + " is headless");
        return;
      }
      if (service->type != model::ServiceType::external_name && service->cluster_ips.empty()) {
        refuse(document, key, "spec.clusterIP",
               "is missing; there is no API server to allocate one: set spec.clusterIP");
        return;
      }
    }
    const auto [first, added] = first_documents_.emplace(key, document.number);
    if (!added) {
      refuse(document, key, "metadata.name",
             "the object occurs twice, first in document " + std::to_string(first->second) + "; remove one");
      return;
    }
    out_.objects.push_back({key, std::move(object)});
  }

  void refuse(const Document& document, const ManifestKey& key, const std::string& field, const std::string& problem) {
    const bool named = !key.name.name.empty();
    if (named) out_.unusable.push_back(key);
    const std::string title = named ? key.to_string() : std::string(model::resource_kind_name(key.kind));
    out_.errors.push_back(place(document, field) + title + ": " + (field.empty() ? "" : field + ": ") + problem);
  }

  void error(const Document& document, const std::string& field, const std::string& problem) {
    out_.errors.push_back(place(document, field) + (field.empty() ? "" : field + ": ") + problem);
  }

  void skip(const Document& document, const std::string& why) {
    out_.skipped.push_back(path_ + ": document " + std::to_string(document.number) + ": " + why);
  }

  // "web.yaml: document 2, line 14: ", with the index of an item of a List.
  std::string place(const Document& document, const std::string& field) {
    std::string full_path = document.item;
    if (!full_path.empty() && !field.empty()) full_path += '.';
    full_path += field;
    int line = document.line;
    if (!full_path.empty() || line == 0) {
      if (const int found = line_of(document.number, full_path); found > 0) line = found;
    }
    std::string out = path_ + ": document " + std::to_string(document.number);
    if (line > 0) out += ", line " + std::to_string(line);
    if (!document.item.empty()) out += ", " + document.item;
    return out + ": ";
  }

  // Parses the whole file again, so this is done for errors only, and only a few times.
  int line_of(int document, const std::string& field) {
    constexpr int kLookups = 20;
    return line_lookups_++ < kLookups ? yaml_line_of(text_, document, field) : 0;
  }

  const std::string& path_;
  const std::string& text_;
  const std::string& node_name_;
  Decoder decoder_;
  ManifestContent out_;
  std::map<ManifestKey, int> first_documents_;  // number of the document in which an object first occurs
  int line_lookups_ = 0;
};

}  // namespace

ManifestContent read_manifest(const std::string& path, const std::string& text, const std::string& node_name,
                              const model::WantedDetailsPtr& details) {
  return FileReader(path, text, node_name, details).read();
}

}  // namespace sluice::kube
