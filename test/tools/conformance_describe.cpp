// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// conformance-load describe: prints the descriptor.
#include <cstdio>
#include <string>

#include "conformance_subject.hpp"

namespace conformance {

int describe(const std::string& file) {
  const Plugin plugin(file);
  const abi::PluginEntry& entry = plugin.entry();
  std::string features;
  const auto add = [&](abi::Feature feature, const char* name) {
    if (plugin.has(feature)) features += (features.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  };
  add(abi::kFeatureIpv4, "IPv4");
  add(abi::kFeatureIpv6, "IPv6");
  add(abi::kFeatureDelta, "delta");
  add(abi::kFeatureAffinity, "affinity");
  add(abi::kFeatureServiceCidrs, "service-cidrs");
  add(abi::kFeatureOwnConnections, "own-connections");
  std::printf("{\"id\": %s, \"version\": %s, \"build\": %s, \"abi\": \"%u.%u\", \"features\": [%s]}\n",
              json_text(entry.id).c_str(), json_text(entry.version).c_str(), json_text(entry.build).c_str(),
              static_cast<unsigned>(entry.major), static_cast<unsigned>(entry.minor), features.c_str());
  return 0;
}

}  // namespace conformance
