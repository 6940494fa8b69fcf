// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Merges the objects of several manifest files, and computes the events for the store when files change. No I/O.
//
// A file is applied as a whole or not at all: while it is broken, its last valid content is kept. Only of a file that
// was broken from the start are the valid objects used, so that a restart does not remove them. If several files have
// the same object, the first by path is used, which is the same after a restart.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/kube/manifests/manifest_documents.hpp"

namespace sluice::kube {

struct ManifestFileChange {
  std::string path;
  std::optional<ManifestContent> content;  // absent: the file is gone
};

class ManifestSet {
 public:
  struct Outcome {
    std::vector<model::Event> events;     // upserts, removals, unusable objects
    std::vector<std::string> duplicates;  // a message for each object that several files have
  };

  // Applies all changes at once, so that an object that moves between files is not removed.
  Outcome apply(const std::vector<ManifestFileChange>& changes);

  std::size_t objects() const { return owners_.size(); }
  // Calls `visit` with each object, sorted by key.
  void each(const std::function<void(const Object&)>& visit) const;

 private:
  using Objects = std::map<ManifestKey, Object>;

  const Object* find(const ManifestKey& key) const;

  std::map<std::string, Objects> files_;
  std::map<ManifestKey, std::set<std::string>> owners_;  // paths of the files that have the object
};

}  // namespace sluice::kube
