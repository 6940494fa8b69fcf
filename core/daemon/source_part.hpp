// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Owns the source and replaces it at runtime. The store keeps the objects of the old source until the new one has
// delivered its lists. A recording (--record) continues across replacements.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/settings.hpp"
#include "core/daemon/source.hpp"
#include "core/kube/http/transport.hpp"
#include "core/kube/recording/recording_sink.hpp"
#include "core/model/event.hpp"
#include "core/reload/file_watch.hpp"
#include "core/reload/part.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"

namespace sluice::daemon {

// A copy for any thread.
struct SourceStatus {
  config::SourceKind kind = config::SourceKind::in_cluster;
  std::string detail;
  std::vector<observe::ResourceStatus> resources;
  std::optional<kube::RecordingStatus> recording;  // nothing without --record
};

class SourcePart final : public reload::ReloadPart {
 public:
  struct Hooks {
    // make_source() with observers. Reads credentials; starts nothing.
    std::function<lib::Result<std::unique_ptr<Source>>(const config::Settings&, bool service_cidrs, model::EventSink&)>
        make;
    // check_source(); called before a source is replaced.
    std::function<std::vector<std::string>(const config::Settings&)> check;
    // [reload thread] Switches events to this transport; null: there is no API server. The old transport is stopped,
    // and must not be used after it returns.
    std::function<void(kube::Transport*)> switch_transport;
    std::string version;  // for the header of a recording
  };

  // `sink` and the clock must outlive it.
  SourcePart(Hooks hooks, model::EventSink& sink, const lib::Clock& clock);
  ~SourcePart() override;  // stops
  SourcePart(const SourcePart&) = delete;
  SourcePart& operator=(const SourcePart&) = delete;

  // [main thread] Creates the first source. Call make(), then transport(), then start(). Errors are those of Source.
  lib::Status make(const config::Settings& settings, bool service_cidrs);
  lib::Status start();
  // [main thread, after the reloader has stopped] Nothing is delivered afterwards; transport() stays valid, but is
  // stopped.
  void stop();
  kube::Transport* transport();

  // [any thread] Applies to this source and to later ones. May wait for the sink, and for a replacement.
  void set_service_cidrs(bool wanted);
  // [any thread] The same for the details that the source delivers; null: none.
  void set_details(const model::WantedDetailsPtr& wanted);
  // [any thread] Never waits for a source, or for a replacement.
  SourceStatus status() const;
  // [any thread] The files whose change needs a reload, with the digests of the content in use.
  std::vector<reload::WatchedFile> files() const;

  bool concerned(const config::Settings& from, const config::Settings& to) const override;
  lib::Status prepare(const config::Settings& from, const config::Settings& to) override;
  reload::Committed commit() override;
  void abandon() override;

 private:
  using Digests = std::map<std::string, std::string>;  // by path; empty: unreadable
  struct Running {
    std::shared_ptr<Source> source;
    config::SourceKind kind = config::SourceKind::in_cluster;
    std::string kubeconfig;  // path
    Digests files;
    bool failed = false;  // its start failed
  };

  static Digests digests_of(const std::vector<std::string>& files);
  Running running() const;
  bool needs_new_source(const Running& current, const config::Settings& from, const config::Settings& to) const;
  lib::Result<Running> make_running(const config::Settings& settings);

  const Hooks hooks_;
  model::EventSink& sink_;
  const lib::Clock& clock_;
  std::unique_ptr<kube::RecordingSink> recording_;  // null without --record
  kube::RecordingHeader header_;
  bool stopped_ = false;
  std::optional<Running> prepared_;  // reload thread; without a source, only the files have changed

  // Held during Source::set_service_cidrs() and set_details(), to exclude a replacement. Taken before mutex_.
  lib::Mutex wanted_mutex_;
  // Held only for copies, because a metrics scrape locks it.
  mutable lib::Mutex mutex_;
  Running running_ SLUICE_GUARDED_BY(mutex_);
  bool service_cidrs_ SLUICE_GUARDED_BY(mutex_) = false;    // changes under both mutexes
  model::WantedDetailsPtr details_ SLUICE_GUARDED_BY(mutex_);  // the same
};

}  // namespace sluice::daemon
