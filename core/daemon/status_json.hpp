// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Builds the JSON object for `sluicectl status`. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/config/settings.hpp"
#include "core/daemon/source.hpp"
#include "core/kube/recording/recording_sink.hpp"
#include "core/lifecycle/swapper.hpp"
#include "core/plugin/loader.hpp"
#include "core/reload/reload_result.hpp"
#include "core/snapshot/store_thread.hpp"
#include "core/sync/sync_loop.hpp"

namespace sluice::daemon {

struct StatusInput {
  std::string node_name;
  const plugin::Plugin* plugin = nullptr;
  snapshot::StoreStatus store;
  config::SourceKind source_kind = config::SourceKind::in_cluster;
  std::string source;
  std::vector<observe::ResourceStatus> resources;
  std::optional<kube::RecordingStatus> recording;
  struct PerFamily {
    lib::Family family;
    sync::LoopStatus loop;
    std::string overdue;
  };
  std::vector<PerFamily> families;
  lifecycle::SwapProgress swap;
  struct Retiring {
    std::string backend;
    std::vector<lib::Family> families;
    std::chrono::system_clock::time_point until;
    std::string error;
  };
  std::vector<Retiring> retiring;
  reload::ReloadStatus reload;
};

nlohmann::json status_json(const StatusInput& in);

}  // namespace sluice::daemon
