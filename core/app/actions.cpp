// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/actions.hpp"

#include "core/app/load_backend.hpp"
#include "core/app/source.hpp"

namespace sluice::app {

void check_surroundings(const Settings& settings, Problems& problems) {
  if (const auto loaded = load_backend(settings.plugins, settings.backend); !loaded) {
    problems.error("backend " + settings.backend, loaded.status().message());
  }
  for (const auto& sentence : check_source(settings)) problems.error("", sentence);
}

}  // namespace sluice::app
