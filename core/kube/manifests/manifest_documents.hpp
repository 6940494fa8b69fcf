// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decodes the text of a manifest file with the same decoder as objects of the API server. Does what a server would have
// done: applies defaults and the selectors of a proxy's lists, and rejects Services without an address. No I/O.
#pragma once

#include <string>
#include <vector>

#include "core/kube/decode/decode.hpp"

namespace sluice::kube {

struct ManifestKey {
  model::ResourceKind kind;
  model::ObjectName name;

  std::string to_string() const { return std::string(model::resource_kind_name(kind)) + " " + name.to_string(); }
  bool operator==(const ManifestKey&) const = default;
  bool operator<(const ManifestKey& other) const { return kind != other.kind ? kind < other.kind : name < other.name; }
};

struct ManifestObject {
  ManifestKey key;
  Object object;
};

struct ManifestContent {
  std::vector<ManifestObject> objects;
  std::vector<ManifestKey> unusable;  // invalid objects with a readable name
  // Messages with file, document, line and field.
  std::vector<std::string> errors;   // any of them makes the file broken
  std::vector<std::string> notes;    // ignored parts of objects
  std::vector<std::string> skipped;  // documents that a proxy does not need
};

// `path` is the name of the file in messages; with the extension ".json" only JSON is accepted. `details`: those to
// decode; null: none.
ManifestContent read_manifest(const std::string& path, const std::string& text, const std::string& node_name,
                              const model::WantedDetailsPtr& details = nullptr);

}  // namespace sluice::kube
