// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/manifests/manifests_source.hpp"

#include <poll.h>
#include <sys/inotify.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/base/log_messages.hpp"
#include "lib/files.hpp"

namespace sluice::kube {
namespace {

constexpr std::size_t kMaxManifestBytes = 512u << 20;
// Polling interval for changes that inotify does not report (links to other folders, network file systems).
constexpr int kSlowPollMs = 10'000;
constexpr int kNoWatchPollMs = 1'000;
// A change often comes as several events; reading waits until they stop.
constexpr int kQuietMs = 100;
constexpr int kMaxQuietRounds = 10;
// Bounds the scans of a folder that changes all the time.
constexpr int kMaxScans = 50;

constexpr std::uint32_t kWatchMask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB |
                                     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

bool is_manifest_name(const std::string& name) {
  if (name.empty() || name.front() == '.') return false;
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// The folder to watch.
std::string watched_folder(const std::string& path) {
  if (is_folder(path)) return path;
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// The manifest files at `path`, in order of precedence.
lib::Result<std::map<std::string, struct stat>> list_files(const std::string& path) {
  std::map<std::string, struct stat> out;
  struct stat data {};
  if (::stat(path.c_str(), &data) != 0) return lib::errno_status("cannot read manifests at " + path, errno);
  if (S_ISREG(data.st_mode)) {
    out.emplace(path, data);
    return out;
  }
  if (!S_ISDIR(data.st_mode)) {
    return lib::invalid("cannot read manifests at " + path + ": it is neither a file nor a folder");
  }
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (!is_manifest_name(it->path().filename().string())) continue;
    // stat() follows links, so a swapped link is a different file.
    if (::stat(it->path().c_str(), &data) == 0 && S_ISREG(data.st_mode)) out.emplace(it->path().string(), data);
  }
  if (error) return lib::errno_status("cannot read manifests in " + path, error.value());
  return out;
}

std::string error_summary(const ManifestContent& content) {
  std::string out = content.errors.front();
  if (content.errors.size() > 1) {
    out += " (and " + std::to_string(content.errors.size() - 1) + " more; sluiced --check names all)";
  }
  return out;
}

}  // namespace

ManifestsSource::ManifestsSource(std::string path, std::string node_name, model::EventSink& sink)
    : path_(std::move(path)), node_name_(std::move(node_name)), sink_(sink) {}

ManifestsSource::~ManifestsSource() { stop(); }

ManifestsSource::Fingerprint ManifestsSource::fingerprint(const struct stat& data) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {data.st_dev, data.st_ino, data.st_size, data.st_mtim.tv_sec * kSecond + data.st_mtim.tv_nsec,
          data.st_ctim.tv_sec * kSecond + data.st_ctim.tv_nsec};
}

std::vector<ManifestFileChange> ManifestsSource::read_changes(const std::map<std::string, struct stat>& found) {
  std::vector<ManifestFileChange> changes;
  for (const auto& [path, data] : found) {
    const Fingerprint current = fingerprint(data);
    const auto known = files_.find(path);
    if (known != files_.end() && known->second.fingerprint == current) continue;
    const auto text = lib::read_file(path, kMaxManifestBytes);
    if (!text && text.status().code() == lib::StatusCode::not_found) continue;  // the next scan finds that it is gone
    if (!text) {
      // Without a fingerprint the next scan retries, but does not log the same reason again.
      File& file = files_[path];
      if (file.error != text.status().message())
        base::log(base::message::kManifestUnreadable, text.status().message(),
                  {{"file", path}, {"error", text.status().message()}});
      file = {{}, text.status().message(), file.has_content};
      continue;
    }
    ManifestContent content = read_manifest(path, *text, node_name_, details_);
    log_content(path, content, known != files_.end() && known->second.has_content);
    files_[path] = {current, content.errors.empty() ? std::string() : error_summary(content), true};
    changes.push_back({path, std::move(content)});
  }
  for (auto it = files_.begin(); it != files_.end();) {
    if (found.contains(it->first)) {
      ++it;
    } else {
      changes.push_back({it->first, std::nullopt});
      it = files_.erase(it);
    }
  }
  return changes;
}

void ManifestsSource::log_content(const std::string& path, const ManifestContent& content, bool keeps_content) {
  if (!content.errors.empty()) {
    base::log(base::message::kManifestInvalid,
              error_summary(content) +
                  (keeps_content ? "; keeping the earlier content of " + path : "; the rest of the file is used"),
              {{"file", path}, {"error", error_summary(content)}});
  }
  for (const auto& note : content.notes) base::log(base::message::kManifestFieldInvalid, note, {{"file", path}});
  if (!base::log_enabled(base::message::kManifestSkipped)) return;
  for (const auto& skipped : content.skipped) base::log(base::message::kManifestSkipped, skipped, {{"file", path}});
}

void ManifestsSource::set_details(const model::WantedDetailsPtr& wanted) {
  {
    const lib::Lock lock(details_mutex_);
    wanted_details_ = wanted;
  }
  details_event_.signal();
}

// Before a scan. If the details have changed, all files are read again.
void ManifestsSource::use_wanted_details() {
  details_event_.drain();
  model::WantedDetailsPtr wanted;
  {
    const lib::Lock lock(details_mutex_);
    wanted = wanted_details_;
  }
  const bool changed = !model::same(wanted, details_);
  details_ = std::move(wanted);
  if (!changed) return;
  list_again_ = listed_;
  for (auto& [path, file] : files_) file.fingerprint = {};
}

lib::Status ManifestsSource::rescan() {
  use_wanted_details();
  // Changes during a scan can be read out of order: the removal of a file without the earlier creation of another. So
  // nothing is delivered until a scan finds no further changes.
  std::vector<ManifestFileChange> changes;
  for (int scan = 0; scan < kMaxScans; ++scan) {
    const auto found = list_files(path_);
    if (!found && scan == 0) {
      // Keep all objects: a folder that is being replaced must not remove all Services.
      if (folder_error_ != found.status().message() && listed_) {
        base::log(base::message::kManifestFolderUnreadable,
                  found.status().message() + "; keeping the objects read before",
                  {{"file", path_}, {"error", found.status().message()}});
      }
      folder_error_ = found.status().message();
      publish_status(folder_error_);
      return found.status();
    }
    if (!found) break;  // gone since the last scan; the next rescan() reports it
    auto more = read_changes(*found);
    if (more.empty()) break;
    std::move(more.begin(), more.end(), std::back_inserter(changes));
  }
  folder_error_.clear();
  const bool first = !std::exchange(listed_, true);
  deliver(set_.apply(changes), std::exchange(list_again_, false) || first);
  publish_status({});
  return {};
}

void ManifestsSource::deliver(ManifestSet::Outcome outcome, bool as_list) {
  for (const auto& duplicate : outcome.duplicates)
    base::log(base::message::kManifestDuplicate, duplicate, {{"error", duplicate}});
  if (as_list) {
    for (const auto kind : model::kResourceKinds) sink_.deliver(model::ListBegin{kind});
    // These are of changed objects; the list has all.
    std::erase_if(outcome.events,
                  [](const model::Event& event) { return !std::holds_alternative<model::Unusable>(event); });
    set_.each([this](const Object& object) { sink_.deliver(model::Upsert{object}); });
  } else {
    changes_ += outcome.events.size();
    if (!outcome.events.empty()) {
      base::log(base::message::kManifestsChanged,
                std::to_string(outcome.events.size()) + " objects changed in " + path_,
                {{"file", path_}, {"count", outcome.events.size()}});
    }
  }
  for (auto& event : outcome.events) sink_.deliver(std::move(event));
  if (as_list) {
    for (const auto kind : model::kResourceKinds) sink_.deliver(model::ListEnd{kind, details_});
    base::log(base::message::kManifestsRead, "read " + std::to_string(set_.objects()) + " objects from " + path_,
              {{"file", path_}, {"count", set_.objects()}});
  }
}

void ManifestsSource::publish_status(const std::string& folder_error) {
  ManifestsStatus status;
  status.files = files_.size();
  status.objects = set_.objects();
  status.changes = changes_;
  if (!folder_error.empty()) status.errors.push_back(folder_error);
  for (const auto& [path, file] : files_) {
    if (!file.error.empty()) status.errors.push_back(file.error);
  }
  const lib::Lock lock(status_mutex_);
  status_ = std::move(status);
}

ManifestsStatus ManifestsSource::status() const {
  const lib::Lock lock(status_mutex_);
  return status_;
}

lib::Status ManifestsSource::start() {
  for (lib::WakeUp* const event : {&stop_event_, &details_event_}) {
    if (const int failure = event->open(); failure != 0) return lib::errno_status("cannot create an eventfd", failure);
  }
  if (const int failure = inotify_.open(); failure != 0) {
    base::log(base::message::kManifestsPolled,
              lib::errno_status("cannot watch " + path_, failure).message() +
                  "; polling every second instead (see fs.inotify.max_user_instances)",
              {{"file", path_}});
  }
  // Watch before reading, so that no change is missed between the two.
  watch_folder();
  if (auto status = rescan(); !status.ok()) return status;
  thread_ = std::thread([this] { run(); });
  return {};
}

void ManifestsSource::stop() {
  if (!thread_.joinable()) return;
  stop_event_.signal();
  thread_.join();
}

void ManifestsSource::watch_folder() {
  if (!inotify_.valid()) return;
  // Added again because the folder may have been replaced; for the same folder this has no effect. While the folder
  // does not exist, its parent is watched.
  const int watch = inotify_.add(watched_folder(path_), kWatchMask);
  if (watch != folder_watch_ && folder_watch_ >= 0) inotify_.remove(folder_watch_);
  folder_watch_ = watch;
}

// Reads all pending inotify events. Returns whether one of them may concern the manifests.
bool ManifestsSource::drain_events() {
  const std::string own_name = std::filesystem::path(path_).filename().string();
  const bool folder = is_folder(path_);
  return inotify_.drain([&](const lib::Inotify::Event& event) {
    const std::string name(event.name);
    // "..data": the links through which kubelet swaps the content of a mounted ConfigMap.
    return name.empty() || name.starts_with("..") || name == own_name || (folder && is_manifest_name(name));
  });
}

void ManifestsSource::run() {
  pollfd fds[] = {{stop_event_.descriptor(), POLLIN, 0},
                  {inotify_.descriptor(), POLLIN, 0},
                  {details_event_.descriptor(), POLLIN, 0}};
  while (true) {
    const int timeout = folder_watch_ >= 0 ? kSlowPollMs : kNoWatchPollMs;
    const int ready = ::poll(fds, std::size(fds), timeout);
    if (fds[0].revents != 0) return;
    const bool details_changed = fds[2].revents != 0;
    if (ready > 0 && !details_changed) {
      if (!drain_events()) continue;
      for (int round = 0; round < kMaxQuietRounds && ::poll(fds, 2, kQuietMs) > 0; ++round) {
        if (fds[0].revents != 0) return;
        drain_events();
      }
    }
    watch_folder();
    // Errors are logged and in the status; the next scan retries.
    static_cast<void>(rescan());
  }
}

std::vector<std::string> check_manifests(const std::string& path, const std::string& node_name) {
  const auto found = list_files(path);
  if (!found) return {found.status().message()};
  std::vector<std::string> out;
  std::vector<ManifestFileChange> files;
  for (const auto& [file, data] : *found) {
    const auto text = lib::read_file(file, kMaxManifestBytes);
    if (!text) {
      out.push_back(text.status().message());
      continue;
    }
    ManifestContent content = read_manifest(file, *text, node_name);
    out.insert(out.end(), content.errors.begin(), content.errors.end());
    out.insert(out.end(), content.notes.begin(), content.notes.end());
    files.push_back({file, std::move(content)});
  }
  const auto outcome = ManifestSet().apply(files);
  out.insert(out.end(), outcome.duplicates.begin(), outcome.duplicates.end());
  return out;
}

}  // namespace sluice::kube
