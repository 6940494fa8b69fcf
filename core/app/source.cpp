// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/source.hpp"

#include <cstdlib>
#include <utility>

#include "core/app/build_info.hpp"
#include "core/base/clock.hpp"
#include "core/kube/api_client.hpp"
#include "core/kube/api_source.hpp"
#include "core/kube/kubeconfig.hpp"
#include "core/kube/manifests_source.hpp"

namespace sluice::app {
namespace {

class Manifests final : public Source {
 public:
  Manifests(const Settings& settings, model::EventSink& sink)
      : path_(settings.source.manifests), source_(path_, settings.node_name, sink) {}

  base::Status start() override { return source_.start(); }
  void stop() override { source_.stop(); }
  std::string detail() const override { return path_; }

  std::vector<ResourceStatus> status() const override {
    const kube::ManifestsStatus now = source_.status();
    ResourceStatus files;
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

class ApiServer final : public Source {
 public:
  ApiServer(kube::ConnectionConfig connection, const Settings& settings, model::EventSink& sink)
      : detail_(connection.server.to_string() + " (" + connection.origin + ")"),
        source_(std::make_unique<kube::ApiClient>(std::move(connection), client_options()), settings.node_name, sink,
                clock_) {}

  base::Status start() override {
    source_.start();
    return {};
  }
  void stop() override { source_.stop(); }
  std::string detail() const override { return detail_; }

  std::vector<ResourceStatus> status() const override {
    std::vector<ResourceStatus> out;
    const kube::ApiSourceStatus now = source_.status();
    for (std::size_t i = 0; i < now.resources.size(); ++i) {
      const kube::ReflectorStatus& from = now.resources[i];
      out.push_back({std::string(model::resource_kind_name(model::kResourceKinds[i])), from.connected, from.lists,
                     from.watches, from.errors, from.last_error});
    }
    return out;
  }

 private:
  static kube::ApiClientOptions client_options() {
    kube::ApiClientOptions out;
    out.version = kVersion;
    return out;
  }

  const base::SteadyClock clock_;
  const std::string detail_;
  kube::ApiSource source_;
};

base::Result<kube::ConnectionConfig> connection_of(const Settings& settings) {
  kube::ConnectionRequest request;
  request.kubeconfig = settings.source.kubeconfig;
  request.master = settings.source.master;
  request.environment = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
  return kube::find_connection(request);
}

}  // namespace

base::Result<std::unique_ptr<Source>> make_source(const Settings& settings, model::EventSink& sink) {
  if (settings.source.kind != SourceKind::manifests) {
    auto connection = connection_of(settings);
    if (!connection) return connection.status();
    return std::unique_ptr<Source>(std::make_unique<ApiServer>(std::move(*connection), settings, sink));
  }
  return std::unique_ptr<Source>(std::make_unique<Manifests>(settings, sink));
}

std::vector<std::string> check_source(const Settings& settings) {
  if (settings.source.kind != SourceKind::manifests) {
    const auto connection = connection_of(settings);
    return connection ? std::vector<std::string>() : std::vector<std::string>{connection.status().message()};
  }
  return kube::check_manifests(settings.source.manifests, settings.node_name);
}

}  // namespace sluice::app
