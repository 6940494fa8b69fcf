// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The source in use, and its exchange by another while everything else goes on. The store keeps what the old one told
// until the new one has told its lists. What is told is recorded, where that is wanted, across all exchanges.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/status.hpp"
#include "core/config/settings.hpp"
#include "core/daemon/source.hpp"
#include "core/kube/http/transport.hpp"
#include "core/kube/recording/recording_sink.hpp"
#include "core/model/event.hpp"
#include "core/reload/file_watch.hpp"
#include "core/reload/part.hpp"

namespace sluice::daemon {

class SourcePart final : public reload::ReloadPart {
 public:
  struct Hooks {
    // make_source() with an observer. Reads credentials; starts nothing.
    std::function<base::Result<std::unique_ptr<Source>>(const config::Settings&, bool service_cidrs, model::EventSink&)>
        make;
    // What is wrong with the source of these settings, before it takes the place of another: check_source().
    std::function<std::vector<std::string>(const config::Settings&)> check;
    // [reload thread] Events go this way from now on; null: there is no API server. The old way is stopped, and must
    // not be used after it returns.
    std::function<void(kube::Transport*)> exchange_transport;
    std::string version;  // for the header of a recording
  };
  // A copy for status.
  struct Now {
    config::SourceKind kind = config::SourceKind::in_cluster;
    std::string detail;
    std::vector<observe::ResourceStatus> resources;
    std::optional<kube::RecordingStatus> recording;  // nothing when what is told is not recorded
  };

  // `sink` and the clock outlive it.
  SourcePart(Hooks hooks, model::EventSink& sink, const base::Clock& clock);
  ~SourcePart() override;  // stops
  SourcePart(const SourcePart&) = delete;
  SourcePart& operator=(const SourcePart&) = delete;

  // [owner] The first source. make(), then transport() for whom it concerns, then start(). Errors as Source has them.
  base::Status make(const config::Settings& settings, bool service_cidrs);
  base::Status start();
  // [owner, after the reloader has stopped] Nothing is delivered afterwards; transport() stays, stopped.
  void stop();
  kube::Transport* transport();

  // [any thread] Of the source in use, and of those that follow. May wait for the sink, and for an exchange.
  void set_service_cidrs(bool wanted);
  // [any thread] Never waits for a source, or for an exchange.
  Now now() const;
  // [any thread] The files whose change is a reason to look at the configuration again, with what is in force of them.
  std::vector<reload::WatchedFile> files() const;

  bool concerned(const config::Settings& from, const config::Settings& to) const override;
  base::Status prepare(const config::Settings& from, const config::Settings& to) override;
  reload::Committed commit() override;
  void abandon() override;

 private:
  using Digests = std::map<std::string, std::string>;  // by path; empty: cannot be read
  struct Running {
    std::shared_ptr<Source> source;
    config::SourceKind kind = config::SourceKind::in_cluster;
    std::string kubeconfig;  // path
    Digests files;
    bool failed = false;  // it could not be started
  };

  static Digests digests_of(const std::vector<std::string>& files);
  bool other_connection(const config::Settings& from, const config::Settings& to) const;
  base::Result<Running> make_running(const config::Settings& settings);

  const Hooks hooks_;
  model::EventSink& sink_;
  const base::Clock& clock_;
  std::unique_ptr<kube::RecordingSink> recording_;  // null: nothing is recorded
  kube::RecordingHeader header_;
  bool stopped_ = false;
  std::optional<Running> prepared_;  // reload thread; without a source: the one in use stays, with other files

  // Held while a source learns what is wanted of it, so that no exchange comes between. Taken before mutex_.
  std::mutex wanted_mutex_;
  // Held for copies only: a scrape takes it.
  mutable std::mutex mutex_;
  Running running_;             // under mutex_
  bool service_cidrs_ = false;  // under both
};

}  // namespace sluice::daemon
