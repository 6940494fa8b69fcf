// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/reload/file_watch.hpp"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/reload/file_chain.hpp"
#include "lib/sha256.hpp"

namespace sluice::reload {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Events that change the target of a name, and those of the folder itself.
constexpr std::uint32_t kFolder =
    IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr std::uint32_t kFile = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB;
// Limit for paths that resolve differently each time.
constexpr int kMaxAttempts = 20;
// File times have the resolution of the kernel's tick: a younger file may change again within the same tick.
constexpr std::int64_t kSettled = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

std::map<std::string, FileChain> chains_of(const auto& files) {
  std::map<std::string, FileChain> out;
  for (const auto& [path, known] : files) out.emplace(path, follow_path(path));
  return out;
}

}  // namespace

FileWatch::~FileWatch() { stop(); }

lib::Status FileWatch::start() {
  if (const int failure = wake_.open(); failure != 0) {
    return lib::errno_status("cannot watch files for changes", failure);
  }
  if (const int failure = inotify_.open(); failure != 0) cannot_watch("files", failure);
  const lib::Lock lock(mutex_);
  running_ = true;
  thread_ = std::thread([this] { run(); });
  while (accepted_version_ != wanted_version_) accepted_changed_.wait(mutex_);
  return {};
}

void FileWatch::stop() {
  {
    const lib::Lock lock(mutex_);
    stopping_ = true;
    running_ = false;
  }
  accepted_changed_.notify_all();
  if (!thread_.joinable()) return;
  wake_.signal();
  thread_.join();
}

void FileWatch::follow(std::vector<WatchedFile> files) {
  std::erase_if(files, [](const WatchedFile& file) { return file.path.empty(); });
  const lib::Lock lock(mutex_);
  wanted_ = std::move(files);
  const auto version = ++wanted_version_;
  if (!running_) return;
  wake_.signal();
  while (accepted_version_ < version && running_) accepted_changed_.wait(mutex_);
}

void FileWatch::accept_current_content() {
  const lib::Lock lock(mutex_);
  accept_content_ = true;
  const auto version = ++wanted_version_;
  if (!running_) return;
  wake_.signal();
  while (accepted_version_ < version && running_) accepted_changed_.wait(mutex_);
}

void FileWatch::run() {
  std::optional<Steady::time_point> noisy_since;
  for (;;) {
    // Files that changed meanwhile are read once they are quiet, as usual.
    if (accept_requests() && !noisy_since) noisy_since = Steady::now();
    {
      const lib::Lock lock(mutex_);
      if (stopping_) return;
    }
    const auto now = Steady::now();
    milliseconds at_most{-1};
    if (noisy_since) {
      const auto left = std::chrono::ceil<milliseconds>(*noisy_since + options_.longest_noise - now);
      at_most = std::clamp(left, milliseconds(0), options_.quiet);
    } else if (must_poll_) {
      at_most = options_.poll;
    }
    bool event = false;
    const bool quiet = sleep(at_most, event);
    if (event && !noisy_since) noisy_since = Steady::now();
    const bool expired = noisy_since && Steady::now() - *noisy_since >= options_.longest_noise;
    if (!quiet && !expired) continue;
    if (!noisy_since && !must_poll_) continue;
    noisy_since.reset();
    const auto changed = scan(false);
    if (!changed.empty()) changed_(changed);
  }
}

// True if the timeout expired without an event.
bool FileWatch::sleep(milliseconds at_most, bool& event) {
  pollfd waiting[] = {{wake_.descriptor(), POLLIN, 0}, {inotify_.descriptor(), POLLIN, 0}};
  const int ready = ::poll(waiting, 2, static_cast<int>(at_most.count()));
  if (ready == 0) return true;
  if (waiting[0].revents != 0) wake_.drain();
  if (waiting[1].revents != 0) event = inotify_.drain([this](const auto& one) { return concerns(one); });
  return false;
}

// Whether the event is about one of the names.
bool FileWatch::concerns(const lib::Inotify::Event& event) {
  const auto found = watches_.find(event.watch);
  if (found == watches_.end()) return false;
  const auto& names = found->second;
  const bool relevant = event.name.empty() || names.empty() || names.contains(std::string(event.name));
  if ((event.mask & IN_IGNORED) != 0) watches_.erase(found);
  return relevant;
}

// Applies the requests of follow() and accept_current_content(); false if there are none.
bool FileWatch::accept_requests() {
  std::vector<WatchedFile> wanted;
  bool accept_content = false;
  std::uint64_t version = 0;
  {
    const lib::Lock lock(mutex_);
    if (accepted_version_ == wanted_version_) return false;
    wanted = wanted_;
    accept_content = std::exchange(accept_content_, false);
    version = wanted_version_;
  }
  std::map<std::string, Known> before;
  before.swap(known_);
  for (const WatchedFile& file : wanted) {
    const auto known = before.find(file.path);
    Known& now = known_[file.path];
    if (known != before.end()) {
      now = known->second;
    } else {
      now.content = file.active_hash;
    }
  }
  auto changed = scan(!accept_content);
  if (accept_content) changed.clear();
  {
    const lib::Lock lock(mutex_);
    accepted_version_ = version;
  }
  accepted_changed_.notify_all();
  if (!changed.empty()) changed_(changed);
  return true;
}

// Watches before it reads, so that a change in between causes an event.
std::vector<std::string> FileWatch::scan(bool new_ones_only) {
  arm();
  std::vector<std::string> out;
  for (auto& [path, known] : known_) {
    if (new_ones_only && known.checked) continue;
    if (check(path, known)) out.push_back(path);
  }
  return out;
}

// Watches every folder through which a path resolves, and the file.
void FileWatch::arm() {
  if (!inotify_.valid()) return;
  auto chains = chains_of(known_);
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    std::map<int, std::set<std::string>> before;
    before.swap(watches_);
    must_poll_ = false;
    for (const auto& [path, chain] : chains) {
      for (const auto& [folder, names] : chain.folders) watch(folder, kFolder, names);
      if (!chain.file.empty()) watch(chain.file, kFile, {});
    }
    for (const auto& [descriptor, names] : before) {
      if (!watches_.contains(descriptor)) inotify_.remove(descriptor);
    }
    auto now = chains_of(known_);
    if (now == chains) return;
    chains = std::move(now);
  }
}

void FileWatch::watch(const std::string& path, std::uint32_t mask, const std::set<std::string>& names) {
  const int descriptor = inotify_.add(path, mask | IN_DONT_FOLLOW | IN_MASK_ADD);
  if (descriptor >= 0) {
    watches_[descriptor].insert(names.begin(), names.end());
  } else if (descriptor != -ENOENT && descriptor != -ENOTDIR) {  // its folder reports these
    cannot_watch(path, -descriptor);
  }
}

void FileWatch::cannot_watch(const std::string& path, int error) {
  must_poll_ = true;
  if (std::exchange(polling_logged_, true)) return;
  const bool limit = error == ENOSPC || error == EMFILE;
  base::log(base::message::kFileWatchPolling,
            "cannot watch " + path + " for changes: " + strerror(error) +
                (limit ? "; raise fs.inotify.max_user_watches or fs.inotify.max_user_instances" : "") +
                "; checking the configuration files every " + std::to_string(options_.poll.count() / 1000) +
                " s instead",
            {{"file", path}});
}

// Whether the content changed.
bool FileWatch::check(const std::string& path, Known& known) {
  const bool counts = std::exchange(known.checked, true) || !known.content.empty();
  struct stat data {};
  Fingerprint now;
  if (::stat(path.c_str(), &data) == 0) {
    now = {data.st_dev, data.st_ino, data.st_size, nanoseconds(data.st_mtim), nanoseconds(data.st_ctim)};
    if (known.settled && known.missing.empty() && now == known.fingerprint) return false;
  }
  timespec clock{};
  ::clock_gettime(CLOCK_REALTIME, &clock);
  const auto content = lib::file_sha256(path);
  if (!content) {
    if (known.missing.empty()) {
      base::log(base::message::kFileUnreadable, content.status().message() + "; keeping its last content",
                {{"file", path}, {"error", content.status().message()}});
    }
    known.missing = content.status().message();
    return false;
  }
  if (!std::exchange(known.missing, {}).empty())
    base::log(base::message::kFileReadable, path + " can be read again", {{"file", path}});
  known.fingerprint = now;
  known.settled = nanoseconds(clock) - now.changed > kSettled;
  if (known.content == *content) return false;
  known.content = *content;
  return counts;
}

}  // namespace sluice::reload
