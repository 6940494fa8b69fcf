// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Services, EndpointSlices and this node's Node from YAML or JSON files, kept up to
// date while they change: the source for nodes without an API server.
//
// A folder is read one level deep, files *.yaml, *.yml and *.json, no hidden ones. The
// folder is watched, not the files, so that atomic renames, editors and the symbolic
// links of a mounted ConfigMap are all seen; what a file said is read again only when
// its stat data changed.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fd.hpp"
#include "core/base/status.hpp"
#include "core/kube/manifests/manifest_set.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

struct ManifestsStatus {
  std::size_t files = 0;
  std::size_t objects = 0;
  std::uint64_t changes = 0;        // events told after the first reading
  std::vector<std::string> errors;  // one a broken file, and what is wrong with the folder
};

class ManifestsSource {
 public:
  // `path`: a file or a folder. The sink outlives the source.
  ManifestsSource(std::string path, std::string node_name, model::EventSink& sink);
  ~ManifestsSource();
  ManifestsSource(const ManifestsSource&) = delete;
  ManifestsSource& operator=(const ManifestsSource&) = delete;

  // Tells the first lists, then follows changes in a thread of its own. Fails if the
  // path cannot be read at all.
  base::Status start();
  // Returns within a moment, as long as the sink does not block.
  void stop();

  // Looks at the files once and tells what changed; the first call tells the lists.
  // For the own thread, and for tests instead of start().
  base::Status rescan();

  ManifestsStatus status() const;  // any thread

 private:
  struct Fingerprint {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    std::int64_t modified = 0;  // nanoseconds
    std::int64_t changed = 0;
    bool operator==(const Fingerprint&) const = default;
  };
  struct File {
    Fingerprint fingerprint;
    std::string error;  // the file is broken, or cannot be read
  };

  static Fingerprint fingerprint(const struct stat& data);
  std::vector<ManifestFileChange> read_changes(const std::map<std::string, struct stat>& found);
  void report(const std::string& path, const ManifestContent& content, bool known);
  void deliver(ManifestSet::Outcome outcome, bool first);
  void publish_status(const std::string& folder_error);

  void run();
  void watch_folder();
  bool drain_events();

  const std::string path_;
  const std::string node_name_;
  model::EventSink& sink_;
  bool listed_ = false;
  std::map<std::string, File> files_;
  ManifestSet set_;
  std::string folder_error_;
  std::uint64_t changes_ = 0;

  base::Fd inotify_;
  int folder_watch_ = -1;
  base::Fd stop_event_;
  std::thread thread_;

  mutable std::mutex status_mutex_;
  ManifestsStatus status_;
};

// Reads everything once and returns all that is wrong, for --check; empty = fine.
std::vector<std::string> check_manifests(const std::string& path, const std::string& node_name);

}  // namespace sluice::kube
