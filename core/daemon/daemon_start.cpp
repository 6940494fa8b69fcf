// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How the daemon starts, in which order its parts stop, and what it reports until the backend has started.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <tuple>

#include "core/base/log.hpp"
#include "core/daemon/build_info.hpp"
#include "core/daemon/daemon.hpp"
#include "core/node/family_support.hpp"
#include "core/node/node_ips.hpp"

namespace sluice::daemon {
namespace {

// How long the shutdown waits for the service manager to store descriptors.
constexpr std::chrono::seconds kDescriptorTimeout{2};
// When a starting backend is first reported as hanging; reported again after twice, four times… that time.
constexpr std::chrono::seconds kHangThreshold{10};
constexpr std::chrono::milliseconds kPollInterval{100};
// How long the shutdown waits for the last events.
constexpr std::chrono::seconds kEventTimeout{2};

// SIGTERM or SIGINT, which are blocked.
bool stop_signal_pending() {
  sigset_t waiting;
  sigpending(&waiting);
  return sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1;
}

store::StoreOptions store_options(const config::Settings& settings, const plugin::Plugin& plugin) {
  return {.external_ips = settings.allow_external_ips, .service_cidrs = plugin.has(abi::kFeatureServiceCidrs)};
}

}  // namespace

lib::Status Daemon::start() {
  base::log_info("app", std::string("sluiced ") + kVersion + " on node " + node_name_ + ", backend " +
                            settings_.get()->backend);
  return parts_.start();
}

// Consumers stop before producers, so that no callback reaches a stopped object.
StartList Daemon::parts() {
  return StartList({
      {{}, [this] { descriptors_.stop(kDescriptorTimeout); }},
      // First, so that no later change of the file is missed. Stops with the reloads.
      {[this] { return start_file_watch(); }, {}},
      {[this] { return state_dir_.open(); }, {}},
      // Starts with the source, and stops after all that sends to it or takes from it.
      {{}, [this] { store_.stop(); }},
      {[this] { return start_address_monitor(); }, [this] { address_monitor_.stop(); }},
      // Before the backend, which reads some of it (BEH 11.5).
      {[this] {
         kernel_part_.apply(*settings_.get());
         return lib::Status();
       },
       {}},
      {[this] { return start_backend_watched(); }, [this] { backends_.stop(); }},
      // Stops after the source, which owns its transport.
      {[this] { return start_events(); }, [this] { events_.stop(); }},
      {{}, [this] { stop_source(); }},
      {[this] {
         service_health_.start();
         return lib::Status();
       },
       [this] { service_health_.stop(); }},
      {[this] { return start_servers(); }, [this] { stop_servers(); }},
      {[this] { return start_delivery(); }, {}},
      {[this] { return start_reloads(); }, [this] { stop_reloads(); }},
  });
}

lib::Status Daemon::start_file_watch() {
  if (auto status = file_watch_.start(); !status.ok()) return status;
  const auto settings = settings_.get();
  if (!settings->config_file.empty()) file_watch_.follow({{settings->config_file, {}}});
  return {};
}

node::AddressMonitor::Options Daemon::address_monitor() {
  node::AddressMonitor::Options out;
  out.changed = [this](const node::InterfaceAddresses& addresses) {
    set_addresses(addresses);
    store_.refresh_node_facts();
  };
  return out;
}

lib::Status Daemon::start_address_monitor() {
  const auto addresses = address_monitor_.start();
  if (!addresses) return addresses.status();
  set_addresses(*addresses);
  return {};
}

// Reads the credentials of the source, which the events use before it starts.
lib::Status Daemon::start_events() {
  const bool service_cidrs = backends_.serving()->plugin().has(abi::kFeatureServiceCidrs);
  if (auto status = source_.make(*settings_.get(), service_cidrs); !status.ok()) return status;
  events_.start(source_.transport());
  complete_ = true;
  return {};
}

void Daemon::stop_source() {
  // Pending events are sent until a short timeout, in case the API server does not answer.
  events_.drain(kEventTimeout);
  // Before the store, because a source may wait for room in its queue.
  source_.stop();
}

lib::Status Daemon::start_servers() {
  if (servers_started_) return *servers_started_;
  servers_started_ = control_.start();
  if (servers_started_->ok()) servers_started_ = observe_.start();
  return *servers_started_;
}

void Daemon::stop_servers() {
  control_.stop();
  observe_.stop();
}

lib::Status Daemon::start_delivery() {
  const auto settings = settings_.get();
  events_.record(observe::starting_event(node_name_, kVersion));
  store_.start({.families = usable_families_,
                .options = store_options(*settings, backends_.serving()->plugin()),
                // A recording may have no ServiceCIDRs; manifest files are always complete.
                .service_cidr_timeout = settings->source.kind == config::SourceKind::replay
                                            ? lib::Clock::Duration(0)
                                            : snapshot::StoreThread::kServiceCidrTimeout});
  return source_.start();
}

lib::Status Daemon::start_reloads() {
  reloader_.start();
  watch_files();
  return {};
}

void Daemon::stop_reloads() {
  file_watch_.stop();
  backends_.cancel_swap();
  reloader_.stop();  // waits for a running reload
}

lib::Status Daemon::start_backend_watched() {
  const auto begun = clock_.now();
  auto next_report = begun + kHangThreshold;
  auto started = std::async(std::launch::async, [this] { return start_backend(); });
  while (started.wait_for(kPollInterval) == std::future_status::timeout) {
    const auto took = clock_.now() - begun;
    // The backend may never return. It has received no Service yet, so its kernel state is not half written.
    if (took >= kHangThreshold && stop_signal_pending()) {
      base::log_warning("app", "stopping although the start of the backend has not returned");
      std::_Exit(0);
    }
    if (clock_.now() < next_report) continue;
    report_hanging(took);
    next_report = clock_.now() + took;
    std::ignore = start_servers();  // start() reports the error after the backend has started
  }
  return started.get();
}

void Daemon::report_hanging(lib::Clock::Duration since_start) {
  const auto seconds = [](lib::Clock::Duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
  };
  std::string text;
  for (const auto& one : backends_.starting()) {
    text += (text.empty() ? "" : "; ") + std::string("backend ") + one.loop.backend + " (" +
            std::string(lib::family_name(one.loop.family)) + "): " + one.call + " has not returned for " +
            seconds(clock_.now() - one.since);
  }
  if (text.empty()) text = "backend " + settings_.get()->backend + " has not started for " + seconds(since_start);
  base::log_warning("app", text);
  notifier_.notify("STATUS=" + text);
}

nlohmann::json Daemon::starting_status() const {
  nlohmann::json families = nlohmann::json::array();
  for (const auto& one : backends_.starting()) {
    families.push_back({{"family", lib::family_name(one.loop.family)}, {"synced", false}, {"overdue", one.call}});
  }
  return {{"version", kVersion},
          {"mode", settings_.get()->backend},
          {"node", {{"name", node_name_}, {"seen", false}}},
          {"families", std::move(families)}};
}

lib::Status Daemon::start_backend() {
  const auto settings = settings_.get();
  read_conntrack_settings();
  const auto support = backends_.start(*settings);
  if (!support) return support.status();
  const auto usable = node::choose_families(node::choose_node_ips({}, settings->bind_address).primary, *support);
  if (!usable) return usable.status();
  for (const lib::Family family : lib::kFamilies) {
    const lib::Status& status = (*support)[lib::family_index(family)];
    if (!status.ok()) {
      base::log_info("app", std::string(lib::family_name(family)) + " is not used: " + status.message());
    }
  }
  usable_families_ = *usable;
  if (auto status = check(*settings); !status.ok()) return status;
  return backends_.subscribe(*settings, *usable);
}

}  // namespace sluice::daemon
