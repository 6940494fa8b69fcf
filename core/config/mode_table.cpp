// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/mode_table.hpp"

#include <algorithm>
#include <array>

namespace sluice::config {
namespace {

constexpr std::array kModeTable = {
    ModeFacts{.id = names::id_of(names::kIptables), .preference = 2},
    // Masquerading of this mode is configured in the iptables section, as in kube-proxy.
    ModeFacts{.id = names::id_of(names::kIpvs),
              .periods = &Draft::ipvs,
              .group = FlagGroup::ipvs,
              .deprecation_event = "IPVSDeprecation",
              .deprecation =
                  "is deprecated in Kubernetes since 1.35; kube-proxy turns it off in 1.40 and removes it in 1.43"},
    ModeFacts{.id = names::id_of(names::kNftables),
              .preference = 1,
              .periods = &Draft::nftables,
              .masquerading = &Draft::nftables,
              .primary_node_ports = true},
    ModeFacts{.id = names::id_of(names::kUserspace),
              .group = FlagGroup::userspace,
              .warns_unused = true},
};
constexpr ModeFacts kOther{};

}  // namespace

std::span<const ModeFacts> mode_table() { return kModeTable; }

const ModeFacts& mode_facts(std::string_view backend) {
  const auto found =
      std::find_if(kModeTable.begin(), kModeTable.end(), [&](const ModeFacts& mode) { return mode.id == backend; });
  return found == kModeTable.end() ? kOther : *found;
}

std::vector<std::string> preferred_modes() {
  std::vector<std::string> ids;
  for (int preference = 1; preference <= static_cast<int>(kModeTable.size()); ++preference) {
    for (const ModeFacts& mode : kModeTable) {
      if (mode.preference == preference) ids.emplace_back(mode.id);
    }
  }
  return ids;
}

}  // namespace sluice::config
