// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/init_only.hpp"

#include <array>
#include <memory>
#include <string>

#include "core/base/log_messages.hpp"
#include "core/lifecycle/load_backend.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "core/node/family_support.hpp"
#include "core/node/kernel_settings.hpp"
#include "core/node/local_detector.hpp"
#include "core/node/node_ips.hpp"
#include "core/plugin/backend_handle.hpp"
#include "lib/clock.hpp"
#include "lib/sysctl.hpp"

namespace sluice::daemon {
namespace {

// The node facts that are known without an API server.
abi::NodeFacts node_facts(const config::Settings& settings, lib::Family family) {
  const auto ports =
      node::choose_node_port_addresses(settings.node_ports, family, {}, {}, settings.localhost_node_ports);
  abi::NodeFacts out{};
  out.struct_size = sizeof out;
  if (ports.match_all) out.flags |= abi::kNodePortsMatchAll;
  if (ports.on_localhost) out.flags |= abi::kNodePortsOnLocalhost;
  if (settings.masquerade_all) out.flags |= abi::kMasqueradeAll;
  return out;
}

// Probes the backend and lets it prepare the node.
lib::Status prepare(const std::shared_ptr<const plugin::Plugin>& loaded, const config::Settings& settings,
                    lib::Family family, const std::string& folder) {
  if (!loaded->supports(family)) {
    return {lib::StatusCode::unsupported, "backend " + settings.backend + " does not support it"};
  }
  plugin::BackendSettings backend;
  backend.family = family;
  backend.options = settings.backend_options();
  backend.option_places = settings.option_places;
  backend.state_dir = folder;
  const lib::SteadyClock clock;
  auto made = plugin::BackendHandle::create(loaded, backend, nullptr, nullptr, clock);
  if (!made) return made.status();
  if (const auto probed = (*made)->probe(); !probed.ok()) return probed.status((*made)->name(), "probe");
  return (*made)->prepare(node_facts(settings, family)).status((*made)->name(), "prepare");
}

void set_kernel(const config::Settings& settings) {
  const lib::Sysctl sysctl;
  for (const auto& sentence : node::apply_conntrack_settings(settings.conntrack, sysctl)) {
    base::log(base::message::kConntrackSettingFailed, sentence, {{"error", sentence}});
  }
}

}  // namespace

lib::Status init_only(const config::Settings& settings) {
  lifecycle::StateDir state(settings.state_dir);
  if (auto status = state.open(); !status.ok()) return status;
  const auto folder = state.backend_folder(settings.backend);
  if (!folder) return folder.status();
  const auto loaded = lifecycle::load_backend(settings.plugins, settings.backend);
  if (!loaded) return loaded.status();
  set_kernel(settings);

  std::array<lib::Status, 2> support;
  for (const lib::Family family : lib::kFamilies) {
    lib::Status& status = support[lib::family_index(family)];
    if (family == lib::Family::ipv6) status = node::check_ipv6();
    if (status.ok()) status = prepare(*loaded, settings, family, *folder);
    if (!status.ok()) {
      base::log(base::message::kFamilyUnused,
                std::string(lib::family_name(family)) + " is not used: " + status.message(),
                {{"family", lib::family_name(family)}, {"error", status.message()}});
    }
  }
  // The checks of a start, so that a node that would fail there does not pass here.
  const auto usable = node::choose_families(node::choose_node_ips({}, settings.bind_address).primary, support);
  if (!usable) return usable.status();
  if (const auto check = node::check_detector_families(settings.local_detector, {}, *usable); !check.fatal.ok()) {
    return check.fatal;
  }
  base::log(base::message::kInitDone,
            "node prepared for backend " + settings.backend + "; exiting because of --init-only",
            {{"backend", settings.backend}});
  return {};
}

}  // namespace sluice::daemon
