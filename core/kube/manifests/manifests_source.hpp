// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The source for nodes without an API server: Services, EndpointSlices and this node's Node from YAML or JSON files,
// which are watched for changes.
//
// Reads the files *.yaml, *.yml and *.json of a folder, without subfolders and hidden files. Watches the folder, not
// the files, to detect atomic renames, editors and the symbolic links of a mounted ConfigMap. A file is read again only
// if its stat data changed.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/kube/manifests/manifest_set.hpp"
#include "core/model/event.hpp"
#include "lib/inotify.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"
#include "lib/wake_up.hpp"

namespace sluice::kube {

struct ManifestsStatus {
  std::size_t files = 0;
  std::size_t objects = 0;
  std::uint64_t changes = 0;        // events delivered after the initial list
  std::vector<std::string> errors;  // one per broken file, and the error of the folder
};

class ManifestsSource {
 public:
  // `path`: a file or a folder. The sink must outlive the source.
  ManifestsSource(std::string path, std::string node_name, model::EventSink& sink);
  ~ManifestsSource();
  ManifestsSource(const ManifestsSource&) = delete;
  ManifestsSource& operator=(const ManifestsSource&) = delete;

  // Delivers the initial lists, then watches for changes in its own thread. Fails if the path cannot be read.
  lib::Status start();
  // Returns soon, unless the sink blocks.
  void stop();

  // Scans the files once and delivers the changes; the first call delivers the initial lists. Called by the source's
  // thread, and by tests instead of start().
  lib::Status rescan();

  // [any thread] Sets the details to decode; null: none. Without effect if nothing changes. Otherwise the thread of the
  // source reads all files again and delivers lists, whose end has the new value. Of a file that is broken then, the
  // objects keep the details that they have.
  void set_details(const model::WantedDetailsPtr& wanted);

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
    std::string error;  // empty if the file is valid
    bool has_content = false;  // some content was read, so its valid objects are in set_
  };

  static Fingerprint fingerprint(const struct stat& data);
  std::vector<ManifestFileChange> read_changes(const std::map<std::string, struct stat>& found);
  void log_content(const std::string& path, const ManifestContent& content, bool keeps_content);
  void deliver(ManifestSet::Outcome outcome, bool as_list);
  void use_wanted_details();
  void publish_status(const std::string& folder_error);

  void run();
  void watch_folder();
  bool drain_events();

  const std::string path_;
  const std::string node_name_;
  model::EventSink& sink_;
  bool listed_ = false;
  bool list_again_ = false;              // with the next scan that succeeds
  model::WantedDetailsPtr details_ = {};  // with which files are read
  std::map<std::string, File> files_;
  ManifestSet set_;
  std::string folder_error_;
  std::uint64_t changes_ = 0;

  lib::Inotify inotify_;
  int folder_watch_ = -1;
  lib::WakeUp stop_event_;
  lib::WakeUp details_event_;
  std::thread thread_;

  lib::Mutex details_mutex_;
  model::WantedDetailsPtr wanted_details_ SLUICE_GUARDED_BY(details_mutex_);
  mutable lib::Mutex status_mutex_;
  ManifestsStatus status_ SLUICE_GUARDED_BY(status_mutex_);
};

// Reads all files once and returns all errors, for --check.
std::vector<std::string> check_manifests(const std::string& path, const std::string& node_name);

}  // namespace sluice::kube
