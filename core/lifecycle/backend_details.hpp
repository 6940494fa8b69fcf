// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a plugin asks for in its descriptor. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "core/plugin/loader.hpp"
#include "core/snapshot/store_thread.hpp"

namespace sluice::lifecycle {

inline model::DetailsRequest details_of(const plugin::Plugin& plugin) {
  const auto& prefixes = plugin.annotation_prefixes();
  return {.services = plugin.has(abi::kFeatureServiceDetails),
          .endpoints = plugin.has(abi::kFeatureEndpointDetails),
          .annotation_prefixes = model::pack_names({prefixes.begin(), prefixes.end()})};
}

}  // namespace sluice::lifecycle
