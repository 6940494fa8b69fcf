// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Connects settings, source, store thread, backends and control socket, then waits for a
// signal. Owns all of them.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/settings_cell.hpp"
#include "core/daemon/kernel_part.hpp"
#include "core/daemon/logging_part.hpp"
#include "core/daemon/node_watch.hpp"
#include "core/daemon/observe.hpp"
#include "core/daemon/source.hpp"
#include "core/daemon/source_part.hpp"
#include "core/daemon/start_list.hpp"
#include "core/daemon/supervision.hpp"
#include "core/kube/events/event_recorder.hpp"
#include "core/lifecycle/backend_part.hpp"
#include "core/lifecycle/backends.hpp"
#include "core/lifecycle/descriptor_keeper.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "core/node/address_monitor.hpp"
#include "core/node/addresses.hpp"
#include "core/observe/control/control_server.hpp"
#include "core/observe/events/node_events.hpp"
#include "core/observe/health/service_health_server.hpp"
#include "core/observe/metrics/metrics.hpp"
#include "core/observe/services/command.hpp"
#include "core/reload/file_watch.hpp"
#include "core/reload/reloader.hpp"
#include "core/snapshot/store_thread.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::daemon {

class Daemon final : private lifecycle::BackendPart::Host {
 public:
  // `read_again` reads the settings for a reload. `passed`: descriptors stored by the service manager.
  Daemon(config::Settings settings, reload::ReadSettings read_again, base::Notifier notifier,
         std::vector<base::PassedDescriptor> passed);
  ~Daemon() override;

  // Starts everything, the source last; stops all of it on failure.
  lib::Status start();
  // Runs until SIGTERM or SIGINT. Rules stay in the kernel. SIGHUP requests a reload.
  lib::Status run();

 private:
  StartList parts();
  lib::Status start_file_watch();
  node::AddressMonitor::Options address_monitor();
  lib::Status start_address_monitor();
  lib::Status start_events();
  void stop_source();
  lib::Status start_delivery();
  lib::Status start_reloads();
  void stop_reloads();
  lib::Status start_backend();
  // Like start_backend(), but reports a backend that hangs in the log, in health and in the status.
  lib::Status start_backend_watched();
  void report_hanging(lib::Clock::Duration since_start);
  // Control, health and metrics servers. Later calls return the first result.
  lib::Status start_servers();
  void stop_servers();
  nlohmann::json starting_status() const;
  void read_conntrack_settings();
  void set_addresses(const node::InterfaceAddresses& addresses);
  std::optional<snapshot::NodeFacts> node_facts(lib::Family family, const std::optional<model::Node>& node,
                                                snapshot::SettingsStage of);
  void warn_once(const std::string& warning);
  ObserveSources observe_sources();
  KernelPart::Hooks kernel_part();
  SourcePart::Hooks source_part();
  void watch_files();
  void reloaded(const reload::ReloadResult& result);
  std::vector<observe::FamilyHealth> family_health() const;
  observe::ScrapeData scrape_data() const;
  nlohmann::json status();
  std::vector<observe::ServiceView> service_views();
  Supervised supervised();
  lib::Status check_pod_cidrs();
  // lifecycle::BackendPart::Host
  lib::Status check(const config::Settings& settings) override;
  void set_service_cidrs(bool wanted, const config::Settings& settings) override;
  void refresh() override;

  config::SettingsCell settings_;
  const std::string node_name_;  // not changed by a reload
  const base::Notifier notifier_;
  const lib::SteadyClock clock_;
  const lib::Clock::Time started_ = clock_.now();
  lifecycle::StateDir state_dir_;
  std::atomic<bool> conntrack_tcp_liberal_{false};

  observe::Metrics metrics_;                   // before all members that record metrics
  kube::EventRecorder events_;                 // before all members that record events
  NodeWatch node_watch_;                       // store thread only, except fatal()
  std::vector<lib::Family> usable_families_;  // primary family first; set before the store starts

  lib::Mutex mutex_;
  node::InterfaceAddresses addresses_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::string> warned_ SLUICE_GUARDED_BY(mutex_);

  snapshot::StoreThread store_;
  std::optional<lib::Status> servers_started_;  // thread of start()
  std::atomic<bool> complete_{false};           // the backend has started, and the source exists
  node::AddressMonitor address_monitor_;
  observe::ControlServer control_;
  Observe observe_;
  observe::ServiceHealthServer service_health_{
      [this] { return observe_.proxy_healthy(); },
      {},
      [this](const std::string& name_space, const std::string& name, const std::string& sentence) {
        events_.record(observe::service_health_event(name_space, name, sentence));
      }};
  lifecycle::DescriptorKeeper descriptors_;
  lifecycle::Backends backends_;
  // Parts of a reload.
  LoggingPart logging_part_;
  KernelPart kernel_part_;
  SourcePart source_;
  lifecycle::BackendPart backend_part_;
  reload::Reloader reloader_;
  reload::FileWatch file_watch_;

  const StartList parts_;
};

}  // namespace sluice::daemon
