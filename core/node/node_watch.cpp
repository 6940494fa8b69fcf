// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/node_watch.hpp"

#include <utility>

#include "core/base/log_messages.hpp"
#include "core/node/node_ips.hpp"
#include "lib/text.hpp"

namespace sluice::node {
namespace {

std::vector<lib::IpAddress> addresses_of(const model::Node& node) {
  auto out = node.internal_ips;
  out.insert(out.end(), node.external_ips.begin(), node.external_ips.end());
  return out;
}

template <class Range>
std::string list(const Range& range) {
  return range.empty() ? "none" : lib::joined(range, ", ", &Range::value_type::to_string);
}

}  // namespace

std::vector<NodeWarning> NodeWatch::update(const std::optional<model::Node>& node, const std::string& name,
                                           const LocalDetectorSettings& detector,
                                           const std::vector<lib::Family>& families) {
  std::vector<NodeWarning> warnings;
  if (!node || node == last_) return warnings;
  const auto now = addresses_of(*node);
  if (now.empty() && addresses_.empty()) {
    if (!reported_no_addresses_) {
      warnings.push_back(
          {base::message::kNodeAddressesMissing, "node " + name + " has no addresses yet in status.addresses"});
    }
    reported_no_addresses_ = true;
  } else if (addresses_.empty()) {
    addresses_ = now;
  } else if (now != addresses_ && now != addresses_of(*last_)) {
    warnings.push_back({base::message::kNodeAddressesChanged, "addresses of node " + name + " changed to " + list(now) +
                                                                  "; using " + list(addresses_) + " until a restart"});
  }
  check_pod_cidrs(*node, detector, families, warnings);
  last_ = node;
  return warnings;
}

void NodeWatch::check_pod_cidrs(const model::Node& node, const LocalDetectorSettings& detector,
                                const std::vector<lib::Family>& families, std::vector<NodeWarning>& warnings) {
  if (pod_cidrs_.empty()) {
    pod_cidrs_ = node.pod_cidrs;
  } else if (!node.pod_cidrs.empty() && node.pod_cidrs != pod_cidrs_ && detector.mode == DetectLocalMode::node_cidr) {
    set_fatal("spec.podCIDRs of node " + node.name + " changed from " + list(pod_cidrs_) + " to " +
              list(node.pod_cidrs) + ", which detectLocalMode NodeCIDR does not support; restart sluiced");
  }
  check_families(detector, families, warnings);
}

void NodeWatch::check_families(const LocalDetectorSettings& detector, std::vector<lib::Family> families,
                               std::vector<NodeWarning>& warnings) {
  const bool known_at_start = families.size() < 2 || !bind_address_.is_unspecified();
  if (!known_at_start) {
    if (addresses_.empty()) return;
    // There are exactly two families.
    if (choose_node_ips(addresses_, bind_address_).primary != families.front()) {
      std::swap(families.front(), families.back());
    }
  }
  const auto take = [&](const FamilyCheck& check) {
    for (const auto& text : check.warnings) warnings.push_back({base::message::kLocalPodRangeMissing, text});
    if (!check.fatal.ok()) set_fatal(check.fatal.message());
  };
  if (!known_at_start && !cluster_cidrs_checked_) {
    cluster_cidrs_checked_ = true;
    take(check_detector_families(detector, {}, families));
  }
  if (!pod_cidrs_checked_ && !pod_cidrs_.empty()) {
    pod_cidrs_checked_ = true;
    LocalDetectorSettings ranges_alone = detector;
    ranges_alone.cluster_cidrs.clear();
    take(check_detector_families(ranges_alone, pod_cidrs_, families));
  }
}

void NodeWatch::set_fatal(const std::string& why) {
  const lib::Lock lock(mutex_);
  if (fatal_.ok()) fatal_ = lib::invalid(why);
}

lib::Status NodeWatch::fatal() const {
  const lib::Lock lock(mutex_);
  return fatal_;
}

}  // namespace sluice::node
