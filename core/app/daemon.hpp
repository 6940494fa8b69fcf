// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The wiring: settings → source, store thread, one apply thread a family, control
// socket; then waits for a signal. Owns everything, decides nothing about Services.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/app/reload_check.hpp"
#include "core/app/cleanup/startup_cleanup.hpp"
#include "core/app/conntrack_feed.hpp"
#include "core/app/service_health_counts.hpp"
#include "core/app/services_command.hpp"
#include "core/app/config/settings.hpp"
#include "core/app/config_watch.hpp"
#include "core/app/metrics/metrics.hpp"
#include "core/app/node_watch.hpp"
#include "core/app/observe.hpp"
#include "core/app/node_events.hpp"
#include "core/app/source.hpp"
#include "core/app/state_dir.hpp"
#include "core/app/supervision.hpp"
#include "core/base/clock.hpp"
#include "core/kube/events/event_recorder.hpp"
#include "core/node/address_monitor.hpp"
#include "core/node/addresses.hpp"
#include "core/node/conntrack_reconciler.hpp"
#include "core/plugin/lookup.hpp"
#include "core/serve/control_server.hpp"
#include "core/serve/service_health_server.hpp"
#include "core/snapshot/store_thread.hpp"
#include "core/sync/sync_loop.hpp"

namespace sluice::app {

class Daemon {
 public:
  explicit Daemon(Settings settings);
  ~Daemon();

  // Everything up to the moment the source starts; a failure leaves nothing running.
  base::Status start();
  // Until SIGTERM or SIGINT. Rules stay in the kernel. SIGHUP checks what `read_again` says.
  base::Status run(base::Notifier notifier, const ReadSettings& read_again);

 private:
  struct FamilyRun {
    base::Family family;
    std::unique_ptr<ServiceHealthCounts> health;  // used on the apply thread only
    std::unique_ptr<ConntrackFeed> conntrack_feed;  // used on the apply thread only
    std::unique_ptr<node::ConntrackReconciler> conntrack;
    std::unique_ptr<sync::SyncLoop> loop;
  };

  base::Status watch_configuration();
  base::Status start_backend();
  base::Result<std::future<base::Status>> start_loop(base::Family family);
  base::Status check_families(const std::vector<base::Family>& usable);
  static void rest_after_burst();
  void set_up_kernel();
  void set_addresses(const node::InterfaceAddresses& addresses);
  std::optional<snapshot::NodeFacts> node_facts(base::Family family, const std::optional<model::Node>& node);
  void warn_once(const std::string& warning);
  void record_claims(base::Family family, const std::vector<std::string>& claims);
  std::unique_ptr<node::ConntrackReconciler> make_conntrack(base::Family family);
  void publish_health(ServiceHealthCounts& counts, const snapshot::Transaction& transaction);
  ObserveSources observe_sources();
  std::vector<serve::FamilyHealth> family_health() const;
  Figures figures() const;
  nlohmann::json status();
  std::vector<ServiceView> service_views();
  Supervised supervised();
  base::Status check_pod_cidrs();
  void stop();

  const Settings settings_;
  const base::SteadyClock clock_;
  const base::Clock::Time started_ = clock_.now();
  StateDir state_dir_;
  std::atomic<bool> config_changed_{false};
  ConfigWatch config_watch_;
  StartupCleanup startup_cleanup_{settings_.backend};
  std::shared_ptr<const plugin::Plugin> plugin_;
  bool conntrack_tcp_liberal_ = false;

  Metrics metrics_;  // before everybody who tells it something
  kube::EventRecorder events_{{.node_name = settings_.node_name}, clock_};  // likewise
  NodeWatch node_watch_{settings_.bind_address};  // store thread only, but for fatal()
  std::vector<base::Family> usable_families_;  // the primary one first; before the store begins

  std::mutex mutex_;
  node::InterfaceAddresses addresses_;  // under mutex_
  std::vector<std::string> warned_;     // under mutex_

  std::vector<FamilyRun> families_;
  std::unique_ptr<snapshot::StoreThread> store_;
  std::atomic<snapshot::StoreThread*> store_for_threads_{nullptr};  // store_, once it is there
  std::unique_ptr<Source> source_;
  std::unique_ptr<node::AddressMonitor> address_monitor_;
  std::unique_ptr<serve::ControlServer> control_;
  Observe observe_{settings_, observe_sources()};
  serve::ServiceHealthServer service_health_{
      [this] { return observe_.proxy_healthy(); },
      {},
      [this](const std::string& name_space, const std::string& name, const std::string& sentence) {
        events_.record(service_health_event(name_space, name, sentence));
      }};
};

}  // namespace sluice::app
