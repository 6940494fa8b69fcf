// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/local_detector.hpp"

#include <algorithm>

namespace sluice::node {
namespace {

using lib::Family;
using lib::IpPrefix;

struct ModeName {
  DetectLocalMode mode;
  std::string_view name;
};
constexpr ModeName kModeNames[] = {{DetectLocalMode::cluster_cidr, "ClusterCIDR"},
                                   {DetectLocalMode::node_cidr, "NodeCIDR"},
                                   {DetectLocalMode::bridge_interface, "BridgeInterface"},
                                   {DetectLocalMode::interface_name_prefix, "InterfaceNamePrefix"}};

LocalDetector cidr_detector(const std::vector<IpPrefix>& cidrs, Family family) {
  for (const IpPrefix& cidr : cidrs) {
    if (cidr.family() == family) return {LocalDetectorKind::cidr, cidr, {}};
  }
  return {};
}

bool only_of_other_family(const std::vector<IpPrefix>& cidrs, Family family) {
  return !cidrs.empty() &&
         std::none_of(cidrs.begin(), cidrs.end(), [&](const IpPrefix& cidr) { return cidr.family() == family; });
}

std::string complaint(std::string_view what, Family primary) {
  const Family other = primary == Family::ipv4 ? Family::ipv6 : Family::ipv4;
  return "this node's primary family is " + std::string(family_name(primary)) + ", but " + std::string(what) +
         " has only " + std::string(family_name(other)) + " ranges";
}

}  // namespace

std::string_view detect_local_mode_name(DetectLocalMode mode) {
  for (const ModeName& entry : kModeNames) {
    if (entry.mode == mode) return entry.name;
  }
  return "";
}

std::optional<DetectLocalMode> parse_detect_local_mode(std::string_view text) {
  for (const ModeName& entry : kModeNames) {
    if (entry.name == text) return entry.mode;
  }
  return std::nullopt;
}

LocalDetectors make_local_detectors(const LocalDetectorSettings& settings,
                                    const std::vector<IpPrefix>& node_pod_cidrs) {
  LocalDetectors out;
  for (const Family family : lib::kFamilies) {
    LocalDetector& detector = out[lib::family_index(family)];
    switch (settings.mode) {
      case DetectLocalMode::cluster_cidr: detector = cidr_detector(settings.cluster_cidrs, family); break;
      case DetectLocalMode::node_cidr: detector = cidr_detector(node_pod_cidrs, family); break;
      case DetectLocalMode::bridge_interface:
        detector = {LocalDetectorKind::bridge_interface, {}, settings.bridge_interface};
        break;
      case DetectLocalMode::interface_name_prefix:
        detector = {LocalDetectorKind::interface_prefix, {}, settings.interface_name_prefix};
        break;
    }
  }
  return out;
}

FamilyCheck check_detector_families(const LocalDetectorSettings& settings, const std::vector<IpPrefix>& node_pod_cidrs,
                                    const std::vector<Family>& families) {
  FamilyCheck out;
  if (families.empty()) return out;
  const Family primary = families.front();
  const auto report = [&](const std::string& text, bool fatal) {
    if (fatal && out.fatal.ok()) {
      out.fatal = lib::invalid(text + ", and mode " + std::string(detect_local_mode_name(settings.mode)) +
                               " needs one of the primary family");
    } else {
      out.warnings.push_back(text);
    }
  };
  if (only_of_other_family(settings.cluster_cidrs, primary)) {
    // With two families the other one still has its detector.
    report(complaint("the cluster CIDR", primary),
           settings.mode == DetectLocalMode::cluster_cidr && families.size() == 1);
  }
  if (only_of_other_family(node_pod_cidrs, primary)) {
    report(complaint("spec.podCIDRs of the Node", primary), settings.mode == DetectLocalMode::node_cidr);
  }
  return out;
}

}  // namespace sluice::node
