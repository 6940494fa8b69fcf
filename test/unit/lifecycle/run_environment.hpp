// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the runs of a test use: a store, and an observer that ignores their events.
#pragma once

#include <optional>

#include "core/lifecycle/backend_run.hpp"

namespace sluice::lifecycle {

struct IgnoredEvents final : sync::SyncObserver {
  void claimed(const sync::Claimed&) override {}
};

class RunEnvironment {
 public:
  explicit RunEnvironment(const lib::Clock& clock) : clock_(clock) {}

  snapshot::StoreThread& store() { return store_; }
  std::shared_ptr<BackendRun> make(BackendRun::Settings settings) {
    return std::make_shared<BackendRun>(std::move(settings), BackendRun::Environment{store_, events_, clock_});
  }

 private:
  const lib::Clock& clock_;
  IgnoredEvents events_;
  snapshot::StoreThread store_{
      "N", {[](lib::Family, const std::optional<model::Node>&, snapshot::SettingsStage) {
        return std::optional(snapshot::NodeFacts());
      }}};
};

}  // namespace sluice::lifecycle
