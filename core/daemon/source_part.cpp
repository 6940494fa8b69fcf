// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/source_part.hpp"

#include <chrono>
#include <utility>

#include "core/base/log.hpp"
#include "core/reload/settings_diff.hpp"
#include "lib/sha256.hpp"

namespace sluice::daemon {

SourcePart::SourcePart(Hooks hooks, model::EventSink& sink, const lib::Clock& clock)
    : hooks_(std::move(hooks)), sink_(sink), clock_(clock) {}

SourcePart::~SourcePart() { stop(); }

lib::Status SourcePart::make(const config::Settings& settings, bool service_cidrs) {
  if (!settings.source.record.empty()) {
    recording_ = std::make_unique<kube::RecordingSink>(settings.source.record, sink_, clock_);
    header_ = {"sluiced " + hooks_.version, settings.node_name, {}};
  }
  service_cidrs_ = service_cidrs;
  auto made = make_running(settings);
  if (!made) return made.status();
  const std::lock_guard lock(mutex_);
  running_ = std::move(*made);
  return {};
}

lib::Status SourcePart::start() {
  if (recording_) {
    header_.started = std::chrono::system_clock::now();
    if (auto status = recording_->start(header_); !status.ok()) return status;
  }
  return running_.source->start();
}

void SourcePart::stop() {
  if (std::exchange(stopped_, true)) return;
  if (running_.source) running_.source->stop();
  if (recording_) recording_->stop();
}

kube::Transport* SourcePart::transport() {
  const std::lock_guard lock(mutex_);
  return running_.source ? running_.source->transport() : nullptr;
}

void SourcePart::set_service_cidrs(bool wanted) {
  const std::lock_guard no_replacement(wanted_mutex_);
  std::shared_ptr<Source> source;
  {
    const std::lock_guard lock(mutex_);
    service_cidrs_ = wanted;
    source = running_.source;
  }
  // Without mutex_, because it waits for a delivery in progress.
  if (source) source->set_service_cidrs(wanted);
}

SourcePart::Now SourcePart::now() const {
  Now out;
  std::shared_ptr<Source> source;
  {
    const std::lock_guard lock(mutex_);
    out.kind = running_.kind;
    source = running_.source;
  }
  if (source) {
    out.detail = source->detail();
    out.resources = source->status();
  }
  if (recording_) out.recording = recording_->status();
  return out;
}

std::vector<reload::WatchedFile> SourcePart::files() const {
  const std::lock_guard lock(mutex_);
  std::vector<reload::WatchedFile> out;
  for (const auto& [path, digest] : running_.files) out.push_back({path, digest});
  return out;
}

// Computed before the files are read for use, so that no change in between is missed.
SourcePart::Digests SourcePart::digests_of(const std::vector<std::string>& files) {
  Digests out;
  for (const auto& file : files) {
    auto digest = lib::file_sha256(file);
    out[file] = digest ? std::move(*digest) : std::string();
  }
  return out;
}

lib::Result<SourcePart::Running> SourcePart::make_running(const config::Settings& settings) {
  Running out;
  out.kind = settings.source.kind;
  out.kubeconfig = settings.source.kubeconfig;
  if (!out.kubeconfig.empty()) out.files = digests_of({out.kubeconfig});
  bool service_cidrs = false;
  {
    const std::lock_guard lock(mutex_);
    service_cidrs = service_cidrs_;
  }
  auto made = hooks_.make(settings, service_cidrs, recording_ ? static_cast<model::EventSink&>(*recording_) : sink_);
  if (!made) return made.status();
  out.source = std::move(*made);
  // The certificates are known only after the kubeconfig has been read.
  out.files.merge(digests_of(out.source->files()));
  return out;
}

bool SourcePart::needs_new_source(const config::Settings& from, const config::Settings& to) const {
  if (running_.failed || reload::concerns(reload::settings_diff(from, to), reload::SettingsPart::source)) return true;
  if (running_.kubeconfig.empty()) return false;
  const auto known = running_.files.find(running_.kubeconfig);
  return known != running_.files.end() && digests_of({known->first}) != Digests{*known};
}

// Without the lock, which now() takes, because reading files may hang. Only commit() changes running_, on this thread.
bool SourcePart::concerned(const config::Settings& from, const config::Settings& to) const {
  if (needs_new_source(from, to)) return true;
  std::vector<std::string> files;
  for (const auto& [path, digest] : running_.files) files.push_back(path);
  return digests_of(files) != running_.files;
}

// The client reads changed certificates itself, so that they need validation, but no new source.
lib::Status SourcePart::prepare(const config::Settings& from, const config::Settings& to) {
  const bool replace = needs_new_source(from, to);
  if (replace && hooks_.check) {
    std::string sentences;
    for (const auto& sentence : hooks_.check(to)) sentences += (sentences.empty() ? "" : "; ") + sentence;
    if (!sentences.empty()) return {lib::StatusCode::invalid, "source: " + sentences};
  }
  auto made = make_running(to);
  if (!made) return made.status().prefixed("source");
  if (!replace) made->source.reset();
  prepared_ = std::move(*made);
  return {};
}

reload::Committed SourcePart::commit() {
  Running next = std::move(*prepared_);
  prepared_.reset();
  if (!next.source) {
    const std::lock_guard lock(mutex_);
    running_.files = std::move(next.files);
    return {.done = {"source: using changed certificates"}};
  }
  std::shared_ptr<Source> old;
  {
    const std::lock_guard lock(mutex_);
    old = running_.source;
  }
  old->stop();
  hooks_.switch_transport(next.source->transport());
  const std::string detail = next.source->detail();
  lib::Status status;
  {
    const std::lock_guard no_set_service_cidrs(wanted_mutex_);
    // service_cidrs_ may have changed since the source was created.
    next.source->set_service_cidrs(service_cidrs_);
    const std::lock_guard lock(mutex_);
    running_ = std::move(next);
  }
  status = running_.source->start();
  if (!status.ok()) {
    const std::lock_guard lock(mutex_);
    running_.failed = true;
    return {.failed = {"source: " + status.message() +
                       "; keeping the known Services without updates; fix the error and reload the configuration"}};
  }
  return {.done = {"source: switched to " + detail}};
}

void SourcePart::abandon() { prepared_.reset(); }

}  // namespace sluice::daemon
