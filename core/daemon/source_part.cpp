// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/source_part.hpp"

#include <chrono>
#include <utility>

#include "core/base/log.hpp"
#include "core/reload/settings_diff.hpp"
#include "lib/sha256.hpp"
#include "lib/text.hpp"

namespace sluice::daemon {

SourcePart::SourcePart(Hooks hooks, model::EventSink& sink, const lib::Clock& clock)
    : hooks_(std::move(hooks)), sink_(sink), clock_(clock) {}

SourcePart::~SourcePart() { stop(); }

lib::Status SourcePart::make(const config::Settings& settings, bool service_cidrs) {
  if (!settings.source.record.empty()) {
    recording_ = std::make_unique<kube::RecordingSink>(settings.source.record, sink_, clock_);
    header_ = {"sluiced " + hooks_.version, settings.node_name, {}};
  }
  {
    const lib::Lock lock(mutex_);
    service_cidrs_ = service_cidrs;
  }
  auto made = make_running(settings);
  if (!made) return made.status();
  const lib::Lock lock(mutex_);
  running_ = std::move(*made);
  return {};
}

lib::Status SourcePart::start() {
  if (recording_) {
    header_.started = std::chrono::system_clock::now();
    if (auto status = recording_->start(header_); !status.ok()) return status;
  }
  return running().source->start();
}

SourcePart::Running SourcePart::running() const {
  const lib::Lock lock(mutex_);
  return running_;
}

void SourcePart::stop() {
  if (std::exchange(stopped_, true)) return;
  if (const auto source = running().source) source->stop();
  if (recording_) recording_->stop();
}

kube::Transport* SourcePart::transport() {
  const lib::Lock lock(mutex_);
  return running_.source ? running_.source->transport() : nullptr;
}

void SourcePart::set_service_cidrs(bool wanted) {
  const lib::Lock no_replacement(wanted_mutex_);
  std::shared_ptr<Source> source;
  {
    const lib::Lock lock(mutex_);
    service_cidrs_ = wanted;
    source = running_.source;
  }
  // Without mutex_, because it waits for a delivery in progress.
  if (source) source->set_service_cidrs(wanted);
}

void SourcePart::set_details(const model::WantedDetailsPtr& wanted) {
  const lib::Lock no_replacement(wanted_mutex_);
  std::shared_ptr<Source> source;
  {
    const lib::Lock lock(mutex_);
    details_ = wanted;
    source = running_.source;
  }
  if (source) source->set_details(wanted);
}

SourceStatus SourcePart::status() const {
  SourceStatus out;
  std::shared_ptr<Source> source;
  {
    const lib::Lock lock(mutex_);
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
  const lib::Lock lock(mutex_);
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
    const lib::Lock lock(mutex_);
    service_cidrs = service_cidrs_;
  }
  auto made = hooks_.make(settings, service_cidrs, recording_ ? static_cast<model::EventSink&>(*recording_) : sink_);
  if (!made) return made.status();
  out.source = std::move(*made);
  // The certificates are known only after the kubeconfig has been read.
  out.files.merge(digests_of(out.source->files()));
  return out;
}

bool SourcePart::needs_new_source(const Running& current, const config::Settings& from,
                                  const config::Settings& to) const {
  if (current.failed || reload::concerns(reload::settings_diff(from, to), reload::SettingsPart::source)) return true;
  if (current.kubeconfig.empty()) return false;
  const auto known = current.files.find(current.kubeconfig);
  return known != current.files.end() && digests_of({known->first}) != Digests{*known};
}

// Files are read without the lock, which status() takes, because reading may hang. Only commit() changes running_, on
// this thread.
bool SourcePart::concerned(const config::Settings& from, const config::Settings& to) const {
  const Running current = running();
  if (needs_new_source(current, from, to)) return true;
  std::vector<std::string> files;
  for (const auto& [path, digest] : current.files) files.push_back(path);
  return digests_of(files) != current.files;
}

// The Kubernetes client reads changed certificates itself. They are validated by making a source, which is discarded;
// only the digests are kept.
lib::Status SourcePart::prepare(const config::Settings& from, const config::Settings& to) {
  const bool replace = needs_new_source(running(), from, to);
  if (replace && hooks_.check) {
    const std::string sentences = lib::joined(hooks_.check(to), "; ");
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
    const lib::Lock lock(mutex_);
    running_.files = std::move(next.files);
    return {.done = {"source: using changed certificates"}};
  }
  const std::shared_ptr<Source> old = running().source;  // until the end: its destructor may wait
  old->stop();
  hooks_.switch_transport(next.source->transport());
  const std::string detail = next.source->detail();
  const std::shared_ptr<Source> source = next.source;
  {
    const lib::Lock no_change(wanted_mutex_);
    bool service_cidrs = false;
    model::WantedDetailsPtr details;
    {
      const lib::Lock lock(mutex_);
      service_cidrs = service_cidrs_;
      details = details_;
    }
    // They may have changed since the source was created.
    source->set_service_cidrs(service_cidrs);
    source->set_details(details);
    const lib::Lock lock(mutex_);
    running_ = std::move(next);
  }
  const lib::Status status = source->start();
  if (!status.ok()) {
    const lib::Lock lock(mutex_);
    running_.failed = true;
    return {.failed = {"source: " + status.message() +
                       "; keeping the known Services without updates; fix the error and reload the configuration"}};
  }
  return {.done = {"source: switched to " + detail}};
}

void SourcePart::abandon() { prepared_.reset(); }

}  // namespace sluice::daemon
