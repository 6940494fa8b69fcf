// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The objects of several manifest files as one set: which file an object is taken from,
// and what changes for the store when files change. No I/O.
//
// A file is taken whole or not at all: while it is broken, what it said before stays in
// force. Only a file that was broken from the start gives what can be used of it, so
// that a restart does not take down its healthy rest. Where several files hold the same
// object, the first by path counts, which is the same after a restart.
#pragma once

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
    std::vector<std::string> duplicates;  // one sentence for each object that several files hold
  };

  // All changes at once, so that an object that moves between files is not removed.
  Outcome apply(const std::vector<ManifestFileChange>& changes);

  std::size_t objects() const { return owners_.size(); }

 private:
  using Objects = std::map<ManifestKey, Object>;

  const Object* find(const ManifestKey& key) const;

  std::map<std::string, Objects> files_;
  std::map<ManifestKey, std::set<std::string>> owners_;  // paths of the files that hold the object
};

}  // namespace sluice::kube
