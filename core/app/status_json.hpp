// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the daemon says of itself to `sluicectl status`: one JSON object. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/app/config/settings.hpp"
#include "core/app/source.hpp"
#include "core/plugin/loader.hpp"
#include "core/snapshot/store_thread.hpp"
#include "core/sync/sync_loop.hpp"

namespace sluice::app {

struct StatusInput {
  const Settings* settings = nullptr;
  const plugin::Plugin* plugin = nullptr;
  snapshot::StoreStatus store;
  std::string source;
  std::vector<ResourceStatus> resources;
  std::optional<kube::RecordingStatus> recording;
  struct PerFamily {
    base::Family family;
    sync::LoopStatus loop;
    std::string overdue;
  };
  std::vector<PerFamily> families;
};

nlohmann::json status_json(const StatusInput& in);

}  // namespace sluice::app
