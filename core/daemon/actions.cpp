// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/actions.hpp"

#include "core/daemon/source.hpp"
#include "core/lifecycle/load_backend.hpp"

namespace sluice::daemon {

void check_references(const config::Settings& settings, config::Problems& problems) {
  if (const auto loaded = lifecycle::load_backend(settings.plugins, settings.backend); !loaded) {
    problems.error("backend " + settings.backend, loaded.status().message());
  }
  for (const auto& sentence : check_source(settings)) problems.error("", sentence);
}

}  // namespace sluice::daemon
