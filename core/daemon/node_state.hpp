// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the daemon knows about its node: addresses, address families in use, kernel settings and changes of the Node
// object. Computes the node facts for backends.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/log.hpp"
#include "core/config/settings_cell.hpp"
#include "core/daemon/kernel_part.hpp"
#include "core/node/address_monitor.hpp"
#include "core/node/node_watch.hpp"
#include "core/snapshot/transaction.hpp"
#include "lib/mutex.hpp"

namespace sluice::daemon {

class NodeState {
 public:
  // Both must outlive it.
  NodeState(const config::SettingsCell& settings, NodeObserver& observer);

  lib::Status start_address_monitor();
  void stop_address_monitor() { address_monitor_.stop(); }
  // Writes the kernel settings.
  void apply_kernel_settings() { kernel_part_.apply(*settings_.get()); }
  KernelPart& kernel_part() { return kernel_part_; }

  // [thread of BackendStart] Chooses the address families to use. `support`, by family_index: the results of
  // check_ipv6(), the features of the plugin, and create and probe of the backend. Fails if the primary family is not
  // supported.
  lib::Status choose_families(const config::Settings& settings, const std::array<lib::Status, 2>& support);
  // The primary family first.
  const std::vector<lib::Family>& usable_families() const { return usable_families_; }

  // Fails for settings that cannot work in the families of this node, and warns of suspicious ones.
  lib::Status check(const config::Settings& settings);
  // [store thread] `swap_settings`: those of a new backend during a swap; null for the running settings.
  std::optional<snapshot::NodeFacts> facts(lib::Family family, const std::optional<model::Node>& node,
                                           const std::shared_ptr<const config::Settings>& swap_settings);
  // [any thread] Why the daemon must stop because of the Node object; ok otherwise.
  lib::Status fatal() const { return watch_.fatal(); }

 private:
  node::AddressMonitor::Options monitor_options();
  void set_addresses(const node::InterfaceAddresses& addresses);
  void warn_once(const base::LogMessage& message, const std::string& warning);

  const config::SettingsCell& settings_;
  const std::string name_;  // not changed by a reload
  NodeObserver& observer_;
  node::NodeWatch watch_;                     // store thread only, except fatal()
  std::vector<lib::Family> usable_families_;  // set before the store starts

  lib::Mutex mutex_;
  node::InterfaceAddresses addresses_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::string> warned_ SLUICE_GUARDED_BY(mutex_);

  node::AddressMonitor address_monitor_;
  KernelPart kernel_part_;
};

}  // namespace sluice::daemon
