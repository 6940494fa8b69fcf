// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The plugin entry of the backends of this package.
#pragma once

#include <cstdint>

#include "sluice/abi/entry.hpp"
#include "sluice/sdk/backend_base.hpp"

// config.h defines it in a build.
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif

namespace sluice::common {

// The descriptor of backend B, for SLUICE_PLUGIN_ENTRY. `options`: OptionSpec. `metrics`: MetricSpec. `features`: those
// that not every backend has.
template <class B>
constexpr abi::PluginEntry entry(const char* id, abi::ArrayView options, abi::ArrayView metrics,
                                 std::uint64_t features = 0) {
  return {abi::kMagic,
          abi::kMajor,
          abi::kMinor,
          sizeof(abi::PluginEntry),
          0,
          abi::kFeatureIpv4 | abi::kFeatureIpv6 | abi::kFeatureDelta | abi::kFeatureAffinity | features,
          abi::kHostFeatureNone,
          id,
          PACKAGE_VERSION,
          __VERSION__,
          &sdk::create<B>,
          options,
          metrics,
          {}};
}

}  // namespace sluice::common
