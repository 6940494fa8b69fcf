// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/daemon.hpp"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "core/app/build_info.hpp"
#include "core/app/logging.hpp"
#include "core/app/status_json.hpp"
#include "core/base/log.hpp"
#include "core/base/memory.hpp"
#include "core/node/family_support.hpp"
#include "core/node/kernel_settings.hpp"
#include "core/node/local_detector.hpp"
#include "core/node/node_ips.hpp"
#include "core/node/node_port_addresses.hpp"
#include "core/node/sysctl.hpp"

namespace sluice::app {
namespace {

// BEH 4: everything is compared with the kernel at the latest this long after the last time.
constexpr std::chrono::hours kFullSyncInterval{1};
// BEH 1.4: how long NodeCIDR waits for the controller manager to give the node its range.
constexpr std::chrono::minutes kPodCidrPatience{5};

// How long the end waits for the last events.
constexpr std::chrono::seconds kEventPatience{1};

constexpr abi::Family abi_family(base::Family family) {
  return family == base::Family::ipv4 ? abi::Family::kIpv4 : abi::Family::kIpv6;
}

snapshot::DetectorKind detector_kind(node::LocalDetectorKind kind) {
  switch (kind) {
    case node::LocalDetectorKind::none: return snapshot::DetectorKind::none;
    case node::LocalDetectorKind::cidr: return snapshot::DetectorKind::cidr;
    case node::LocalDetectorKind::bridge_interface: return snapshot::DetectorKind::bridge_interface;
    case node::LocalDetectorKind::interface_prefix: return snapshot::DetectorKind::interface_prefix;
  }
  return snapshot::DetectorKind::none;
}

// One of the signals, or a number below 0 when the time is over.
int wait_for(const sigset_t& signals, const std::optional<base::Clock::Duration>& at_most) {
  timespec time{};
  if (at_most) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*at_most);
    time.tv_sec = seconds.count();
    time.tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(*at_most - seconds).count();
  }
  return sigtimedwait(&signals, nullptr, at_most ? &time : nullptr);
}

}  // namespace

Daemon::Daemon(Settings settings) : settings_(std::move(settings)), state_dir_(settings_.state_dir) {}

Daemon::~Daemon() { stop(); }

base::Status Daemon::start() {
  base::log_info("app", std::string("sluiced ") + kVersion + " on node " + settings_.node_name + ", backend " +
                            settings_.backend);
  if (auto status = watch_configuration(); !status.ok()) return status;
  if (auto status = state_dir_.open(); !status.ok()) return status;

  node::AddressMonitor::Options monitor;
  monitor.changed = [this](const node::InterfaceAddresses& addresses) {
    set_addresses(addresses);
    if (snapshot::StoreThread* store = store_for_threads_) store->refresh_node_facts();
  };
  address_monitor_ = std::make_unique<node::AddressMonitor>(std::move(monitor));
  const auto addresses = address_monitor_->start();
  if (!addresses) return addresses.status();
  set_addresses(*addresses);

  set_up_kernel();
  if (auto status = start_backend(); !status.ok()) return status;
  auto source = make_source(settings_, plugin_->has(abi::kFeatureServiceCidrs), *store_, metrics_);
  if (!source) return source.status();
  source_ = std::move(*source);
  events_.start(source_->transport());
  metrics_.set_figures([this] { return figures(); });

  control_ = std::make_unique<serve::ControlServer>(state_dir_.control_socket());
  control_->on("status", [this](const nlohmann::json&) { return status(); });
  control_->on_slow("services", ServicesCommand(service_views()));
  if (auto status = control_->start(); !status.ok()) return status;
  service_health_.start();
  if (auto status = observe_.start(); !status.ok()) return status;
  events_.record(starting_event(settings_.node_name, kVersion));
  if (settings_.backend == "ipvs") {
    const auto event = ipvs_deprecation_event(settings_.node_name);
    base::log_warning("app", event.note);
    events_.record(event);
  }
  store_->start();
  return source_->start();
}

// From the first moment on, as far as possible: what is written later has to be read by another process.
base::Status Daemon::watch_configuration() {
  if (settings_.config_file.empty()) return {};
  return config_watch_.start(settings_.config_file, [this] {
    config_changed_ = true;
    ::kill(::getpid(), SIGUSR1);  // run() waits for signals
  });
}

base::Status Daemon::start_backend() {
  const plugin::Folders folders(settings_.plugins.folders.begin(), settings_.plugins.folders.end());
  const auto file = plugin::find_plugin(folders, settings_.backend);
  if (!file) return file.status();
  auto loaded = plugin::load_plugin({*file, settings_.backend, {folders, settings_.plugins.relax_ownership}, 0});
  if (!loaded) return loaded.status();
  plugin_ = std::move(*loaded);

  const auto liberal = node::conntrack_tcp_be_liberal(node::Sysctl());
  if (!liberal) base::log_warning("node", liberal.status().message());
  conntrack_tcp_liberal_ = liberal.ok() && *liberal;

  // Both families at once: finding and probing the tools of the kernel takes its time.
  std::array<base::Status, 2> support;
  std::array<std::future<base::Status>, 2> probes;
  for (const base::Family family : base::kFamilies) {
    base::Status& status = support[base::family_index(family)];
    if (family == base::Family::ipv6) status = node::check_ipv6();
    if (status.ok() && !plugin_->has(family == base::Family::ipv4 ? abi::kFeatureIpv4 : abi::kFeatureIpv6)) {
      status = {base::StatusCode::unsupported,
                "backend " + settings_.backend + " does not support " + std::string(base::family_name(family))};
    }
    if (!status.ok()) continue;
    auto probe = start_loop(family);
    if (probe) probes[base::family_index(family)] = std::move(*probe);
    else status = probe.status();
  }
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (probes[i].valid()) support[i] = probes[i].get();
  }
  std::erase_if(families_, [&](const FamilyRun& run) { return !support[base::family_index(run.family)].ok(); });
  const auto usable = node::choose_families(node::choose_node_ips({}, settings_.bind_address).primary, support);
  if (!usable) return usable.status();
  for (const base::Family family : base::kFamilies) {
    const base::Status& status = support[base::family_index(family)];
    if (!status.ok()) {
      base::log_info("app", std::string(base::family_name(family)) + " is not used: " + status.message());
    }
  }
  if (auto status = check_families(*usable); !status.ok()) return status;
  startup_cleanup_.expect(*usable);

  usable_families_ = *usable;
  store_ = std::make_unique<snapshot::StoreThread>(
      settings_.node_name, *usable,
      snapshot::StoreThread::Callbacks{
          [this](base::Family family) {
            for (const auto& run : families_) {
              if (run.family == family) run.loop->request();
            }
          },
          [this](base::Family family, const std::optional<model::Node>& node) { return node_facts(family, node); }},
      store::StoreOptions{.external_ips = settings_.allow_external_ips,
                          .service_cidrs = plugin_->has(abi::kFeatureServiceCidrs)},
      // A recording may have none; files always say what there is.
      settings_.source.kind == SourceKind::replay ? base::Clock::Duration(0)
                                                  : snapshot::StoreThread::kServiceCidrPatience);
  store_for_threads_ = store_.get();
  return {};
}

// Settings that cannot work, or look like a mistake, on the families this node has.
base::Status Daemon::check_families(const std::vector<base::Family>& usable) {
  for (const auto& warning : node::check_node_port_families(settings_.node_ports, usable)) warn_once(warning);
  const auto check = node::check_detector_families(settings_.local_detector, {}, usable);
  // Of two families the Node object has to say which is the primary one; node_watch_ looks then.
  if (usable.size() < 2 || !settings_.bind_address.is_unspecified()) {
    for (const auto& warning : check.warnings) warn_once(warning);
  }
  return check.fatal;
}

base::Result<std::future<base::Status>> Daemon::start_loop(base::Family family) {
  sync::SyncLoop::Options options;
  options.intervals.min = settings_.min_sync_period;
  options.intervals.retry = settings_.sync_period;
  options.intervals.max = std::max<base::Clock::Duration>(kFullSyncInterval, settings_.sync_period);
  options.verify_every = sync::verify_interval(settings_.sync_period);
  auto health = std::make_unique<ServiceHealthCounts>();
  auto conntrack_feed = std::make_unique<ConntrackFeed>();
  auto conntrack = make_conntrack(family);
  auto loop = std::make_unique<sync::SyncLoop>(
      options, clock_,
      sync::SyncLoop::Callbacks{
          // A plugin may ask for everything before there is a store to ask.
          [this, family](bool full) {
            snapshot::StoreThread* store = store_for_threads_;
            return store == nullptr ? nullptr : store->take(family, full);
          },
          [this, family](const std::vector<std::string>& claims) { record_claims(family, claims); },
          [this, counts = health.get(), feed = conntrack_feed.get(),
           conntrack = conntrack.get()](const snapshot::Transaction& t) {
            publish_health(*counts, t);
            conntrack->put(feed->update(t));
            if (t.full) rest_after_burst();
          },
          [this, family](const sync::SyncReport& report) { metrics_.synced(family, report); },
          [this](const plugin::FailedObject& failed) { events_.record(left_out_event(settings_.backend, failed)); },
          [this](abi::Severity severity, const std::string& reason, const std::string& note) {
            events_.record(backend_event(settings_.node_name, settings_.backend, severity, reason, note));
          }});

  const auto section = settings_.section();
  plugin::BackendSettings backend;
  backend.family = abi_family(family);
  backend.config = section.yaml;
  backend.options.assign(section.options.begin(), section.options.end());
  backend.options.insert(backend.options.end(), settings_.mode_options.begin(), settings_.mode_options.end());
  const auto folder = state_dir_.backend_folder(settings_.backend);
  if (!folder) return folder.status();
  backend.state_dir = *folder;
  auto probe = loop->start([this, backend = std::move(backend), feed = conntrack_feed.get()](
                               plugin::HostCallbacks callbacks) {
    callbacks.relays = [feed](plugin::RelayedPort relayed) {
      feed->relays({{base::Symbol(relayed.name_space), std::move(relayed.service)}, base::Symbol(relayed.port_name)},
                   std::move(relayed.ports));
    };
    return plugin::BackendHandle::create(plugin_, backend, std::move(callbacks), &metrics_.of_plugins(), clock_);
  });
  families_.push_back(
      {family, std::move(health), std::move(conntrack_feed), std::move(conntrack), std::move(loop)});
  return probe;
}

// A full transaction is the most there ever is to do; long quiet follows.
void Daemon::rest_after_burst() {
  base::release_free_memory();
  base::release_startup_pages();
}

// Before the backend, which reads some of it (BEH 11.5).
void Daemon::set_up_kernel() {
  const node::Sysctl sysctl;
  const auto failed = node::apply_conntrack_settings(settings_.conntrack, sysctl);
  if (!failed.empty()) {
    const auto event = kernel_settings_event(settings_.node_name, failed);
    base::log_warning("node", event.note);
    events_.record(event);
  }
  const bool on_bridge = settings_.local_detector.mode == node::DetectLocalMode::bridge_interface;
  if (const auto sentence = node::check_bridge_netfilter(sysctl, on_bridge); !sentence.empty()) {
    base::log_warning("node", sentence);
  }
  if (const auto status = node::set_oom_score(settings_.oom_score_adj); !status.ok()) {
    base::log_warning("node", status.message());
  }
}

void Daemon::set_addresses(const node::InterfaceAddresses& addresses) {
  const std::lock_guard lock(mutex_);
  addresses_ = addresses;
}

std::optional<snapshot::NodeFacts> Daemon::node_facts(base::Family family, const std::optional<model::Node>& node) {
  observe_.set_node(node);
  for (const auto& sentence : node_watch_.look(node, settings_.node_name, settings_.local_detector, usable_families_)) {
    base::log_warning("node", sentence);
  }
  if (!node_watch_.fatal().ok()) return std::nullopt;
  const bool node_cidr = settings_.local_detector.mode == node::DetectLocalMode::node_cidr;
  if (node_cidr && (!node || node->pod_cidrs.empty())) return std::nullopt;

  snapshot::NodeFacts out;
  out.name = settings_.node_name;
  const node::NodeIps ips = node::choose_node_ips(node_watch_.addresses(), settings_.bind_address);
  out.node_ip = ips.of(family);
  out.masquerade_mark = settings_.masquerade_mark();
  out.masquerade_all = settings_.masquerade_all;
  out.conntrack_tcp_liberal = conntrack_tcp_liberal_;

  const auto detectors =
      node::make_local_detectors(settings_.local_detector, node ? node->pod_cidrs : std::vector<base::IpPrefix>());
  const node::LocalDetector& detector = detectors[base::family_index(family)];
  out.detector = detector_kind(detector.kind);
  out.detector_cidr = detector.cidr;
  out.detector_interface = detector.interface_name;

  node::InterfaceAddresses addresses;
  {
    const std::lock_guard lock(mutex_);
    addresses = addresses_;
  }
  auto node_ports = node::choose_node_port_addresses(settings_.node_ports, family, addresses, ips,
                                                     settings_.localhost_node_ports);
  for (const auto& warning : node_ports.warnings) warn_once(warning);
  out.node_ports_match_all = node_ports.match_all;
  out.node_port_addresses = std::move(node_ports.addresses);
  out.node_ports_on_localhost = node_ports.on_localhost;
  out.local_addresses = node::local_addresses(addresses, family);
  return out;
}

void Daemon::warn_once(const std::string& warning) {
  {
    const std::lock_guard lock(mutex_);
    if (std::find(warned_.begin(), warned_.end(), warning) != warned_.end()) return;
    warned_.push_back(warning);
  }
  base::log_warning("node", warning);
}

void Daemon::record_claims(base::Family family, const std::vector<std::string>& claims) {
  const auto status = state_dir_.record_claims(settings_.backend, family, claims);
  if (!status.ok()) base::log_warning("app", status.message());
  startup_cleanup_.stands(family, claims);
}

std::unique_ptr<node::ConntrackReconciler> Daemon::make_conntrack(base::Family family) {
  node::ConntrackReconciler::Options options;
  options.family = family;
  options.memory_file =
      state_dir_.path() + (family == base::Family::ipv4 ? "/udp-frontends-ipv4" : "/udp-frontends-ipv6");
  options.reconciled = [this, family](double seconds, std::uint64_t deleted) {
    metrics_.conntrack_reconciled(family, seconds, deleted);
  };
  auto out = std::make_unique<node::ConntrackReconciler>(std::move(options), std::make_unique<node::KernelConntrackTable>());
  out->start();
  return out;
}

void Daemon::publish_health(ServiceHealthCounts& counts, const snapshot::Transaction& transaction) {
  const snapshot::NodeFacts& node = *transaction.node;
  service_health_.set_addresses(transaction.family, node.node_ports_match_all
                                                        ? std::nullopt
                                                        : std::optional(node.node_port_addresses));
  for (auto& update : counts.update(transaction)) {
    service_health_.set(transaction.family, std::move(update.name_space), std::move(update.name), update.port,
                        update.local_endpoints);
  }
}

ObserveSources Daemon::observe_sources() {
  ObserveSources out;
  out.families = [this] { return family_health(); };
  out.metrics_text = [this] { return metrics_.text(); };
  out.answered_healthz = [this](int code) { metrics_.answered_healthz(code); };
  out.answered_livez = [this](int code) { metrics_.answered_livez(code); };
  out.set_verbosity = [](int verbosity) { app::set_verbosity(verbosity); };
  out.bind_failed_hard = [this](const std::string& reason, const std::string& sentence) {
    events_.record(bind_failed_event(settings_.node_name, reason, sentence));
  };
  out.version = kVersion;
  return out;
}

std::vector<serve::FamilyHealth> Daemon::family_health() const {
  std::vector<serve::FamilyHealth> out;
  const auto now = clock_.now();
  for (const auto& run : families_) {
    const auto fresh = run.loop->freshness();
    serve::FamilyHealth family{run.family, fresh.last_updated, std::nullopt};
    if (fresh.pending_since) family.pending_for = now - *fresh.pending_since;
    out.push_back(family);
  }
  return out;
}

base::Status Daemon::run(base::Notifier notifier, const ReadSettings& read_again) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  sigaddset(&signals, SIGUSR1);
  Supervision supervision(std::move(notifier));
  supervision.ready();
  const bool wait_for_pod_cidrs = settings_.local_detector.mode == node::DetectLocalMode::node_cidr;
  std::optional<base::Clock::Duration> interval = supervision.interval();
  if (wait_for_pod_cidrs) {
    const base::Clock::Duration second = std::chrono::seconds(1);
    interval = std::min(interval.value_or(second), second);
  }
  for (;;) {
    if (supervision.interval()) supervision.tell(supervised());
    const int caught = wait_for(signals, interval);
    if (caught == SIGUSR1) {
      if (!config_changed_) continue;  // somebody else's
      supervision.stopping("the configuration file has changed");
      stop();
      return {base::StatusCode::unavailable, "the content of the configuration file " + settings_.config_file +
                                                 " has changed; ending with status 1, to be started again with it"};
    }
    if (caught == SIGHUP) {
      check_reload(settings_, read_again);
      continue;
    }
    if (caught > 0) {
      supervision.stopping("rules stay in the kernel");
      base::log_info("app", std::string("stopping on ") + strsignal(caught) + "; rules stay in the kernel");
      stop();
      return {};
    }
    if (wait_for_pod_cidrs) {
      if (auto status = check_pod_cidrs(); !status.ok()) {
        stop();
        return status;
      }
    }
  }
}

base::Status Daemon::check_pod_cidrs() {
  if (auto status = node_watch_.fatal(); !status.ok()) return status;
  if (clock_.now() - started_ < kPodCidrPatience) return {};
  const auto status = store_->status();
  if (status.facts_known) return {};
  return base::not_found(status.node ? "node " + settings_.node_name +
                                           " has no spec.podCIDRs, which detectLocalMode NodeCIDR needs: let the "
                                           "controller manager allocate them, or choose another mode"
                                     : "node " + settings_.node_name +
                                           " does not exist, which detectLocalMode NodeCIDR needs: check "
                                           "--hostname-override");
}

Supervised Daemon::supervised() {
  Supervised out;
  out.source = settings_.source.kind == SourceKind::manifests ? "manifests in " : "the API server ";
  if (settings_.source.kind == SourceKind::replay) out.source = "the recording ";
  out.source += source_->detail();
  out.store = store_->status();
  for (const auto& run : families_) {
    out.families.push_back({run.family, run.loop->status(), std::string(run.loop->overdue())});
  }
  return out;
}

// On the thread of a scrape: nothing here waits for the store or an apply thread.
Figures Daemon::figures() const {
  Figures out;
  out.store = store_->figures();
  out.events = events_.figures();
  out.resources = source_->status();
  const auto now = clock_.now();
  for (const auto& run : families_) {
    const auto pending_since = run.loop->freshness().pending_since;
    const double pending = pending_since ? std::chrono::duration<double>(now - *pending_since).count() : 0.0;
    out.families.push_back({run.family, run.loop->figures(), pending, !run.loop->overdue().empty()});
  }
  const abi::PluginEntry& entry = plugin_->entry();
  out.plugins.push_back(
      {plugin_->id(), plugin_->version(), std::to_string(entry.major) + "." + std::to_string(entry.minor)});
  out.features = feature_figures(settings_);
  return out;
}

nlohmann::json Daemon::status() {
  StatusInput in;
  in.settings = &settings_;
  in.plugin = plugin_.get();
  in.store = store_->status();
  in.source = source_->detail();
  in.resources = source_->status();
  in.recording = source_->recording();
  for (const auto& run : families_) {
    in.families.push_back({run.family, run.loop->status(), std::string(run.loop->overdue())});
  }
  return status_json(in);
}

// For the control thread, which ends before the loops and the store.
std::vector<ServiceView> Daemon::service_views() {
  std::vector<ServiceView> out;
  for (const auto& run : families_) {
    ServiceView view;
    view.family = run.family;
    view.backend = settings_.backend;
    sync::SyncLoop* const loop = run.loop.get();
    if (loop->inspectable()) view.inspect = [loop](sync::SyncLoop::Inspect question) { loop->inspect(std::move(question)); };
    view.told = [this, family = run.family](snapshot::StoreThread::ToldDone done) { store_->told(family, std::move(done)); };
    view.in_progress = [loop] { return std::string(loop->in_progress()); };
    out.push_back(std::move(view));
  }
  return out;
}

void Daemon::stop() {
  // Against the flow, from the outside in; nothing is called that has stopped.
  config_watch_.stop();
  if (control_) control_->stop();
  service_health_.stop();  // before the loops it asks; what they still tell it has no effect
  observe_.stop();         // likewise
  if (address_monitor_) address_monitor_->stop();  // before the store it tells
  // What is still to be said gets a moment; a server that is silent holds nobody up.
  events_.drain(kEventPatience);
  // A source may wait for room in the store's queue; the store must still be taking.
  if (source_) source_->stop();
  events_.stop();
  for (auto& run : families_) run.loop->stop();
  startup_cleanup_.stop();
  if (store_) store_->stop();
  families_.clear();
}

}  // namespace sluice::app
