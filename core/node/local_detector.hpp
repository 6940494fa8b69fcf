// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How packets of pods of this node are told from all others (BEH 5.7): settings and
// the node's pod CIDRs in, one detector a family out. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/base/status.hpp"

namespace sluice::node {

enum class DetectLocalMode : std::uint8_t { cluster_cidr, node_cidr, bridge_interface, interface_name_prefix };

// As kube-proxy spells it: "ClusterCIDR", "NodeCIDR", …
std::string_view detect_local_mode_name(DetectLocalMode mode);
std::optional<DetectLocalMode> parse_detect_local_mode(std::string_view text);

struct LocalDetectorSettings {
  DetectLocalMode mode = DetectLocalMode::cluster_cidr;
  std::vector<base::IpPrefix> cluster_cidrs;  // at most one a family is used: the first
  std::string bridge_interface;               // mode bridge_interface
  std::string interface_name_prefix;          // mode interface_name_prefix
  bool operator==(const LocalDetectorSettings&) const = default;
};

enum class LocalDetectorKind : std::uint8_t { none, cidr, bridge_interface, interface_prefix };

struct LocalDetector {
  LocalDetectorKind kind = LocalDetectorKind::none;  // none: rules that depend on it are left out
  base::IpPrefix cidr;                               // kind cidr
  std::string interface_name;                        // the interface kinds
  bool operator==(const LocalDetector&) const = default;
};

// By base::family_index().
using LocalDetectors = std::array<LocalDetector, 2>;

LocalDetectors make_local_detectors(const LocalDetectorSettings& settings,
                                    const std::vector<base::IpPrefix>& node_pod_cidrs);

// CIDRs of the wrong family only (BEH 11.7). `families` are those in use, the primary
// one first.
struct FamilyCheck {
  std::vector<std::string> warnings;  // to be logged, the start goes on
  base::Status fatal;                 // not ok: the mode in use cannot work on this node
};
FamilyCheck check_detector_families(const LocalDetectorSettings& settings,
                                    const std::vector<base::IpPrefix>& node_pod_cidrs,
                                    const std::vector<base::Family>& families);

}  // namespace sluice::node
