// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/source.hpp"

#include <cstdlib>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/daemon/build_info.hpp"
#include "core/kube/access/kubeconfig.hpp"
#include "core/kube/http/api_client.hpp"
#include "core/kube/manifests/manifests_source.hpp"
#include "core/kube/recording/recording_file.hpp"
#include "core/kube/recording/recording_reader.hpp"
#include "core/kube/recording/replay_source.hpp"
#include "core/kube/watch/api_source.hpp"
#include "lib/clock.hpp"

namespace sluice::daemon {
namespace {

std::string environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

class Manifests final : public Source {
 public:
  Manifests(const config::Settings& settings, model::EventSink& sink)
      : path_(settings.source.manifests), source_(path_, settings.node_name, sink) {}

  lib::Status start() override { return source_.start(); }
  void stop() override { source_.stop(); }
  std::string detail() const override { return path_; }
  void set_details(const model::WantedDetailsPtr& wanted) override { source_.set_details(wanted); }

  std::vector<observe::ResourceStatus> status() const override {
    const kube::ManifestsStatus now = source_.status();
    observe::ResourceStatus files;
    files.kind = "files";
    files.connected = now.errors.empty();
    files.lists = now.files;
    files.errors = now.errors.size();
    if (!now.errors.empty()) files.last_error = now.errors.back();
    return {files};
  }

 private:
  const std::string path_;
  kube::ManifestsSource source_;
};

std::vector<std::string> files_of(const std::string& kubeconfig, const kube::ConnectionConfig& connection) {
  std::vector<std::string> out{kubeconfig, connection.ca.file, connection.client_certificate.file,
                               connection.client_key.file};
  std::erase(out, std::string());
  return out;
}

// As in client-go, acceptContentTypes overrides what follows from contentType.
std::string accepted_types(const config::ClientSettings& client) {
  if (!client.accept_content_types.empty()) return client.accept_content_types;
  return client.content_type == kube::kJsonType ? kube::kJsonType : kube::kObjectTypes;
}

class ApiServer final : public Source {
 public:
  ApiServer(kube::ConnectionConfig connection, const config::Settings& settings, bool service_cidrs,
            model::EventSink& sink, kube::ClientObserver& observer)
      : detail_(connection.server.to_string() + " (" + connection.origin + ")"),
        files_(files_of(settings.source.kubeconfig, connection)),
        source_(client(std::move(connection), settings.source.client, sink, observer, clock_),
                {settings.node_name, kube::streaming_lists_wanted(environment), service_cidrs,
                 accepted_types(settings.source.client)},
                sink, clock_) {}

  lib::Status start() override {
    source_.start();
    return {};
  }
  void stop() override { source_.stop(); }
  kube::Transport* transport() override { return &source_.transport(); }
  void set_service_cidrs(bool wanted) override { source_.set_service_cidrs(wanted); }
  void set_details(const model::WantedDetailsPtr& wanted) override { source_.set_details(wanted); }
  std::vector<std::string> files() const override { return files_; }
  std::string detail() const override { return detail_; }

  std::vector<observe::ResourceStatus> status() const override {
    std::vector<observe::ResourceStatus> out;
    const kube::ApiSourceStatus now = source_.status();
    for (const kube::ReflectorStatus& from : now.resources) {
      if (from.absent) continue;  // the API server does not have this resource, which is not an error
      out.push_back(
          {from.object_kind, from.connected, from.lists, from.relists, from.watches, from.errors, from.last_error});
    }
    return out;
  }

 private:
  static std::unique_ptr<kube::Transport> client(kube::ConnectionConfig connection,
                                                 const config::ClientSettings& settings, model::EventSink& sink,
                                                 kube::ClientObserver& observer, const lib::Clock& clock) {
    kube::ApiClientOptions options;
    options.version = kVersion;
    options.budget = {.qps = settings.qps, .burst = settings.burst};
    options.sink = &sink;
    return std::make_unique<kube::ApiClient>(std::move(connection), std::move(options), observer, clock);
  }

  const lib::SteadyClock clock_;
  const std::string detail_;
  const std::vector<std::string> files_;
  kube::ApiSource source_;
};

class Replay final : public Source {
 public:
  Replay(const config::Settings& settings, model::EventSink& sink)
      : path_(settings.source.replay),
        node_name_(settings.node_name),
        source_(path_, {.speed = settings.source.replay_speed}, sink, clock_) {}

  lib::Status start() override {
    if (auto status = source_.start(); !status.ok()) return status;
    if (const std::string& recorded = source_.header().node; recorded != node_name_) {
      base::log(base::message::kReplayOfAnotherNode,
                path_ + " was recorded on node " + recorded + " and is replayed on " + node_name_ +
                    ", where other endpoints are local; see --hostname-override",
                {{"file", path_}, {"node", recorded}});
    }
    return {};
  }
  void stop() override { source_.stop(); }

  std::string detail() const override {
    const kube::ReplayStatus now = source_.status();
    return path_ + ", " + std::to_string(now.delivered) + " of " + std::to_string(now.total) + " events";
  }

  std::vector<observe::ResourceStatus> status() const override {
    const kube::ReplayStatus now = source_.status();
    observe::ResourceStatus file;
    file.kind = "recording";
    file.connected = now.error.empty();
    file.errors = now.unusable + (now.error.empty() ? 0 : 1);
    file.last_error = now.error;
    return {file};
  }

 private:
  const lib::SteadyClock clock_;
  const std::string path_;
  const std::string node_name_;
  kube::ReplaySource source_;
};

lib::Result<kube::ConnectionConfig> connection_of(const config::Settings& settings) {
  kube::ConnectionRequest request;
  request.kubeconfig = settings.source.kubeconfig;
  request.master = settings.source.master;
  request.environment = environment;
  return kube::find_connection(request);
}

using SourceResult = lib::Result<std::unique_ptr<Source>>;

std::vector<std::string> check_plain_source(const config::Settings& settings) {
  switch (settings.source.kind) {
    case config::SourceKind::manifests:
      return kube::check_manifests(settings.source.manifests, settings.node_name);
    case config::SourceKind::replay:
      return kube::check_recording(settings.source.replay);
    case config::SourceKind::in_cluster:
    case config::SourceKind::api:
      break;
  }
  const auto connection = connection_of(settings);
  return connection ? std::vector<std::string>() : std::vector<std::string>{connection.status().message()};
}

}  // namespace

SourceResult make_source(const config::Settings& settings, bool service_cidrs, model::EventSink& sink,
                         kube::ClientObserver& observer) {
  switch (settings.source.kind) {
    case config::SourceKind::manifests:
      return SourceResult(std::make_unique<Manifests>(settings, sink));
    case config::SourceKind::replay:
      return SourceResult(std::make_unique<Replay>(settings, sink));
    case config::SourceKind::in_cluster:
    case config::SourceKind::api:
      break;
  }
  auto connection = connection_of(settings);
  if (!connection) return connection.status();
  return SourceResult(std::make_unique<ApiServer>(std::move(*connection), settings, service_cidrs, sink, observer));
}

std::vector<std::string> check_source(const config::Settings& settings) {
  auto out = check_plain_source(settings);
  if (!settings.source.record.empty()) {
    if (const auto status = kube::check_recording_path(settings.source.record); !status.ok()) {
      out.push_back(status.message());
    }
  }
  return out;
}

std::string recorded_node(const std::string& recording) {
  const auto reader = kube::RecordingReader::open(recording);
  return reader ? reader->header().node : std::string();
}

}  // namespace sluice::daemon
