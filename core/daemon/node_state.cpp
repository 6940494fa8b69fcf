// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/node_state.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/node/family_support.hpp"
#include "core/node/local_detector.hpp"
#include "core/node/node_ips.hpp"
#include "core/node/node_port_addresses.hpp"

namespace sluice::daemon {
namespace {

snapshot::DetectorKind detector_kind(node::LocalDetectorKind kind) {
  switch (kind) {
    case node::LocalDetectorKind::none:
      return snapshot::DetectorKind::none;
    case node::LocalDetectorKind::cidr:
      return snapshot::DetectorKind::cidr;
    case node::LocalDetectorKind::bridge_interface:
      return snapshot::DetectorKind::bridge_interface;
    case node::LocalDetectorKind::interface_prefix:
      return snapshot::DetectorKind::interface_prefix;
  }
  return snapshot::DetectorKind::none;
}

}  // namespace

NodeState::NodeState(const config::SettingsCell& settings, NodeObserver& observer)
    : settings_(settings),
      name_(settings_.get()->node_name),
      observer_(observer),
      watch_(settings_.get()->bind_address),
      address_monitor_(monitor_options()),
      kernel_part_(observer) {}

node::AddressMonitor::Options NodeState::monitor_options() {
  node::AddressMonitor::Options out;
  out.changed = [this](const node::InterfaceAddresses& addresses) {
    set_addresses(addresses);
    observer_.node_facts_changed();
  };
  return out;
}

lib::Status NodeState::start_address_monitor() {
  const auto addresses = address_monitor_.start();
  if (!addresses) return addresses.status();
  set_addresses(*addresses);
  return {};
}

lib::Status NodeState::choose_families(const config::Settings& settings, const std::array<lib::Status, 2>& support) {
  const auto usable = node::choose_families(node::choose_node_ips({}, settings.bind_address).primary, support);
  if (!usable) return usable.status();
  for (const lib::Family family : lib::kFamilies) {
    const lib::Status& status = support[lib::family_index(family)];
    if (!status.ok()) {
      base::log(base::message::kFamilyUnused,
                std::string(lib::family_name(family)) + " is not used: " + status.message(),
                {{"family", lib::family_name(family)}, {"error", status.message()}});
    }
  }
  usable_families_ = *usable;
  return {};
}

lib::Status NodeState::check(const config::Settings& settings) {
  const auto& usable = usable_families_;
  for (const auto& warning : node::check_node_port_families(settings.node_ports, usable)) {
    warn_once(base::message::kNodePortsOnAllAddresses, warning);
  }
  const auto detector = node::check_detector_families(settings.local_detector, {}, usable);
  // With two families, the Node determines the primary one; NodeWatch checks later.
  if (usable.size() < 2 || !settings.bind_address.is_unspecified()) {
    for (const auto& warning : detector.warnings) warn_once(base::message::kLocalPodRangeMissing, warning);
  }
  return detector.fatal;
}

void NodeState::set_addresses(const node::InterfaceAddresses& addresses) {
  const lib::Lock lock(mutex_);
  addresses_ = addresses;
}

std::optional<snapshot::NodeFacts> NodeState::facts(lib::Family family, const std::optional<model::Node>& node,
                                                    const std::shared_ptr<const config::Settings>& swap_settings) {
  const auto running = settings_.get();
  const auto settings = swap_settings ? swap_settings : running;
  watch_.set_bind_address(settings->bind_address);
  for (const auto& warning : watch_.update(node, name_, settings->local_detector, usable_families_)) {
    base::log(warning.message, warning.text, {{"node", name_}});
  }
  if (!watch_.fatal().ok()) return std::nullopt;
  const bool node_cidr = settings->local_detector.mode == node::DetectLocalMode::node_cidr;
  if (node_cidr && (!node || node->pod_cidrs.empty())) return std::nullopt;

  snapshot::NodeFacts out;
  out.name = name_;
  const node::NodeIps ips = node::choose_node_ips(watch_.addresses(), settings->bind_address);
  out.node_ip = ips.of(family);
  // Two backends that serve at the same time must use the same mark; it changes after the swap.
  out.masquerade_mark = running->masquerade_mark();
  out.masquerade_all = settings->masquerade_all;
  out.conntrack_tcp_liberal = kernel_part_.conntrack_tcp_liberal();

  const auto detectors =
      node::make_local_detectors(settings->local_detector, node ? node->pod_cidrs : std::vector<lib::IpPrefix>());
  const node::LocalDetector& detector = detectors[lib::family_index(family)];
  out.detector = detector_kind(detector.kind);
  out.detector_cidr = detector.cidr;
  out.detector_interface = detector.interface_name;

  node::InterfaceAddresses addresses;
  {
    const lib::Lock lock(mutex_);
    addresses = addresses_;
  }
  auto node_ports =
      node::choose_node_port_addresses(settings->node_ports, family, addresses, ips, settings->localhost_node_ports);
  for (const auto& warning : node_ports.warnings) warn_once(base::message::kNodePortAddressIgnored, warning);
  out.node_ports_match_all = node_ports.match_all;
  out.node_port_addresses = std::move(node_ports.addresses);
  out.node_ports_on_localhost = node_ports.on_localhost;
  out.local_addresses = node::local_addresses(addresses, family);
  return out;
}

void NodeState::warn_once(const base::LogMessage& message, const std::string& warning) {
  {
    const lib::Lock lock(mutex_);
    if (std::find(warned_.begin(), warned_.end(), warning) != warned_.end()) return;
    warned_.push_back(warning);
  }
  base::log(message, warning);
}

}  // namespace sluice::daemon
