// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Watches files for changes of their content: written in place, replaced, reached through a link that is switched (as
// Kubernetes does with a ConfigMap), or removed and created again. An event that keeps the content (touch, an identical
// copy) is not a change. A removed file is logged once; when it exists again, its content is compared with the last
// one.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/inotify.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"
#include "lib/wake_up.hpp"

namespace sluice::reload {

struct WatchedFile {
  std::string path;
  // SHA-256 of the active content, if known: a different content at the first check is a change. Empty: the content at
  // the first check is the active one. Ignored for a path that is watched already.
  std::string active_hash{};

  bool operator==(const WatchedFile&) const = default;
};

class FileWatch {
 public:
  struct Options {
    std::chrono::milliseconds quiet{300};           // time without an event before files are read
    std::chrono::milliseconds longest_noise{5000};  // files are read after this time even if events continue
    std::chrono::milliseconds poll{10'000};         // interval of checks if inotify is not available
  };
  // [own thread] Receives the paths with changed content, as passed to follow(). Must not block, nor call follow() or
  // stop().
  using Changed = std::function<void(const std::vector<std::string>& paths)>;

  explicit FileWatch(Changed changed) : FileWatch(std::move(changed), Options()) {}
  FileWatch(Changed changed, Options options) : changed_(std::move(changed)), options_(options) {}
  ~FileWatch();  // stops
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // If inotify is not available, this logs a warning and succeeds; the files are checked periodically then.
  lib::Status start();
  // After it returns there are no more callbacks.
  void stop();

  // [any other thread, also before start()] Replaces the watched files; returns once they are watched. The known
  // content of a path that was watched before is kept.
  void follow(std::vector<WatchedFile> files);
  // [any other thread, also before start()] Takes the current content as the active one, since the caller reads the
  // files next. Later changes are reported.
  void accept_current_content();

 private:
  struct Fingerprint {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    std::int64_t modified = 0;  // nanoseconds
    std::int64_t changed = 0;
    bool operator==(const Fingerprint&) const = default;
  };
  struct Known {
    std::string content;      // SHA-256; empty if it was never read
    Fingerprint fingerprint;  // of the last read
    bool settled = false;     // an equal fingerprint means equal content
    std::string missing;      // the error if it cannot be read now
    bool checked = false;
  };

  void run();
  bool accept_requests();
  void arm();
  void watch(const std::string& path, std::uint32_t mask, const std::set<std::string>& names);
  void cannot_watch(const std::string& path, int error);
  bool concerns(const lib::Inotify::Event& event);
  std::vector<std::string> scan(bool new_ones_only);
  bool check(const std::string& path, Known& known);
  bool sleep(std::chrono::milliseconds at_most, bool& event);

  const Changed changed_;
  const Options options_;
  lib::Inotify inotify_;
  lib::WakeUp wake_;

  // Own thread only.
  std::map<std::string, Known> known_;
  std::map<int, std::set<std::string>> watches_;  // by watch descriptor: the relevant names; empty: all
  bool must_poll_ = false;                        // a file or folder could not be watched
  bool polling_logged_ = false;

  lib::Mutex mutex_;
  lib::ConditionVariable accepted_changed_;
  std::vector<WatchedFile> wanted_ SLUICE_GUARDED_BY(mutex_);
  bool accept_content_ SLUICE_GUARDED_BY(mutex_) = false;
  std::uint64_t wanted_version_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::uint64_t accepted_version_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool running_ SLUICE_GUARDED_BY(mutex_) = false;
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sluice::reload
