// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The text of one manifest file → objects, by the decoder the API server's objects
// take too. Does for them what a server would have done: fills in defaults, applies the
// selectors a proxy lists with, refuses what has no address. No I/O.
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
  std::vector<ManifestKey> unusable;  // objects with a name that could not be used
  // Sentences for people, each with file, document, line and field.
  std::vector<std::string> errors;   // what stops the file from being taken
  std::vector<std::string> notes;    // parts of objects that were left out
  std::vector<std::string> skipped;  // documents of no use to a proxy
};

// `path` names the file in the sentences; ".json" at its end means JSON and nothing else.
ManifestContent read_manifest(const std::string& path, const std::string& text, const std::string& node_name);

}  // namespace sluice::kube
