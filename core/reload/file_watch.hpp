// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Follows files by what they hold: written in place, replaced by another, reached by a link that is exchanged (as
// Kubernetes does it with a ConfigMap), removed and made again. What leaves the content as it is (a touch, a copy of
// the same) is no change. A file that vanishes is none either: it is said once in the log, and what comes back is
// compared with what was there.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fd.hpp"
#include "core/base/status.hpp"

namespace sluice::reload {

struct WatchedFile {
  std::string path;
  // SHA-256 of what is in force of it, where that is known: if it holds something else when it is first looked at, that
  // is a change. Empty: what it holds then is what is in force. Of no matter for a path that is followed already.
  std::string in_force{};

  bool operator==(const WatchedFile&) const = default;
};

class FileWatch {
 public:
  struct Options {
    std::chrono::milliseconds quiet{300};           // without an event before files are read
    std::chrono::milliseconds longest_noise{5000};  // then they are read all the same
    std::chrono::milliseconds poll{10'000};         // where the kernel cannot tell
  };
  // [thread of the watch] With the paths that hold other content, as they were given. Must not wait, nor call follow()
  // or stop().
  using Changed = std::function<void(const std::vector<std::string>& paths)>;

  explicit FileWatch(Changed changed) : FileWatch(std::move(changed), Options()) {}
  FileWatch(Changed changed, Options options) : changed_(std::move(changed)), options_(options) {}
  ~FileWatch();  // stops
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Where the kernel has no watch for it, files are looked at now and then, which is said in the log: no reason not to
  // start.
  base::Status start();
  // Afterwards nothing is called.
  void stop();

  // [any thread but the watch's, also before start()] These and no others, from now on: it returns when they are
  // watched. What is known of a path that was followed before stays known.
  void follow(std::vector<WatchedFile> files);
  // [likewise] What they hold at this moment is no change any more: for who reads them next. What changes afterwards
  // is.
  void take_note();

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
    std::string content;      // SHA-256; empty: it could never be read
    Fingerprint fingerprint;  // of the last reading
    bool settled = false;     // whether the same fingerprint means the same content
    std::string missing;      // why it cannot be read now
    bool looked_at = false;
  };

  void run();
  bool adopt();
  void arm();
  void watch(const std::string& path, std::uint32_t mask, const std::set<std::string>& names);
  void cannot_watch(const std::string& path, int error);
  // Whether an event was about one of the names.
  bool drain();
  std::vector<std::string> look(bool new_ones_only);
  bool look_at(const std::string& path, Known& known);
  bool sleep(std::chrono::milliseconds at_most, bool& event);
  void wake() const;

  const Changed changed_;
  const Options options_;
  base::Fd inotify_;
  base::Fd wake_;

  // The watch's thread only.
  std::map<std::string, Known> known_;
  std::map<int, std::set<std::string>> watches_;  // by watch descriptor: the names of interest; none: all
  bool blind_ = false;                            // something could not be watched
  bool blindness_told_ = false;

  std::mutex mutex_;
  std::condition_variable adopted_changed_;
  std::vector<WatchedFile> wanted_;  // under mutex_, as is all that follows
  bool note_ = false;
  std::uint64_t wanted_version_ = 0;
  std::uint64_t adopted_version_ = 0;
  bool running_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sluice::reload
