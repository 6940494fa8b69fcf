// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Detects local traffic, which comes from pods of this node (BEH 5.7): computes one detector per address family from
// the settings and the pod CIDRs of the node.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/ip.hpp"
#include "lib/status.hpp"

namespace sluice::node {

enum class DetectLocalMode : std::uint8_t { cluster_cidr, node_cidr, bridge_interface, interface_name_prefix };

// As kube-proxy spells it: "ClusterCIDR", "NodeCIDR", …
std::string_view detect_local_mode_name(DetectLocalMode mode);
std::optional<DetectLocalMode> parse_detect_local_mode(std::string_view text);

struct LocalDetectorSettings {
  DetectLocalMode mode = DetectLocalMode::cluster_cidr;
  std::vector<lib::IpPrefix> cluster_cidrs;  // the first one of each address family is used
  std::string bridge_interface;               // in BridgeInterface mode
  std::string interface_name_prefix;          // in InterfaceNamePrefix mode
  bool operator==(const LocalDetectorSettings&) const = default;
};

enum class LocalDetectorKind : std::uint8_t { none, cidr, bridge_interface, interface_prefix };

struct LocalDetector {
  LocalDetectorKind kind = LocalDetectorKind::none;  // none: rules that depend on it are not programmed
  lib::IpPrefix cidr;                               // if kind is cidr
  std::string interface_name;                        // if kind is one of the interface kinds
  bool operator==(const LocalDetector&) const = default;
};

// By lib::family_index().
using LocalDetectors = std::array<LocalDetector, 2>;

LocalDetectors make_local_detectors(const LocalDetectorSettings& settings,
                                    const std::vector<lib::IpPrefix>& node_pod_cidrs);

// Checks for settings that have CIDRs of the wrong family only (BEH 11.7). `families` are those in use, the primary one
// first.
struct FamilyCheck {
  std::vector<std::string> warnings;  // to be logged
  lib::Status fatal;                 // an error if the mode in use cannot work on this node
};
FamilyCheck check_detector_families(const LocalDetectorSettings& settings,
                                    const std::vector<lib::IpPrefix>& node_pod_cidrs,
                                    const std::vector<lib::Family>& families);

}  // namespace sluice::node
