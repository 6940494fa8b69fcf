// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/daemon.hpp"

#include <signal.h>
#include <string.h>

#include <algorithm>

#include "core/app/build_info.hpp"
#include "core/app/status_json.hpp"
#include "core/base/log.hpp"
#include "core/base/memory.hpp"
#include "core/node/family_support.hpp"
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

// The node's own addresses as its Node object and --bind-address say.
node::NodeIps node_ips_of(const Settings& settings, const std::optional<model::Node>& node) {
  std::vector<base::IpAddress> addresses;
  if (node) {
    addresses = node->internal_ips;
    addresses.insert(addresses.end(), node->external_ips.begin(), node->external_ips.end());
  }
  return node::choose_node_ips(addresses, settings.bind_address);
}

}  // namespace

Daemon::Daemon(Settings settings) : settings_(std::move(settings)), state_dir_(settings_.state_dir) {}

Daemon::~Daemon() { stop(); }

base::Status Daemon::start() {
  base::log_info("app", std::string("sluiced ") + kVersion + " on node " + settings_.node_name + ", backend " +
                            settings_.backend);
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

  if (auto status = start_backend(); !status.ok()) return status;
  auto source = make_source(settings_, *store_);
  if (!source) return source.status();
  source_ = std::move(*source);

  control_ = std::make_unique<serve::ControlServer>(state_dir_.control_socket());
  control_->on("status", [this](const nlohmann::json&) { return status(); });
  if (auto status = control_->start(); !status.ok()) return status;
  service_health_.start();
  store_->start();
  return source_->start();
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
  const auto usable = node::choose_families(node_ips_of(settings_, std::nullopt).primary, support);
  if (!usable) return usable.status();
  for (const base::Family family : base::kFamilies) {
    const base::Status& status = support[base::family_index(family)];
    if (!status.ok()) {
      base::log_info("app", std::string(base::family_name(family)) + " is not used: " + status.message());
    }
  }
  if (auto status = check_families(*usable); !status.ok()) return status;

  store_ = std::make_unique<snapshot::StoreThread>(
      settings_.node_name, *usable,
      snapshot::StoreThread::Callbacks{
          [this](base::Family family) {
            for (const auto& run : families_) {
              if (run.family == family) run.loop->request();
            }
          },
          [this](base::Family family, const std::optional<model::Node>& node) { return node_facts(family, node); }});
  store_for_threads_ = store_.get();
  return {};
}

// Settings that cannot work, or look like a mistake, on the families this node has.
base::Status Daemon::check_families(const std::vector<base::Family>& usable) {
  for (const auto& warning : node::check_node_port_families(settings_.node_ports, usable)) warn_once(warning);
  const auto check = node::check_detector_families(settings_.local_detector, {}, usable);
  for (const auto& warning : check.warnings) warn_once(warning);
  return check.fatal;
}

base::Result<std::future<base::Status>> Daemon::start_loop(base::Family family) {
  sync::SyncLoop::Options options;
  options.intervals.min = settings_.min_sync_period;
  options.intervals.retry = settings_.sync_period;
  options.intervals.max = std::max<base::Clock::Duration>(kFullSyncInterval, settings_.sync_period);
  options.verify_every = settings_.sync_period;
  auto health = std::make_unique<ServiceHealthCounts>();
  auto loop = std::make_unique<sync::SyncLoop>(
      options, clock_,
      sync::SyncLoop::Callbacks{
          // A plugin may ask for everything before there is a store to ask.
          [this, family](bool full) {
            snapshot::StoreThread* store = store_for_threads_;
            return store == nullptr ? nullptr : store->take(family, full);
          },
          [this, family](const std::vector<std::string>& claims) { record_claims(family, claims); },
          [this, counts = health.get()](const snapshot::Transaction& t) {
            publish_health(*counts, t);
            if (t.full) rest_after_burst();
          }});

  const auto section = settings_.section();
  plugin::BackendSettings backend;
  backend.family = abi_family(family);
  backend.config = section.yaml;
  backend.options.assign(section.options.begin(), section.options.end());
  const auto folder = state_dir_.backend_folder(settings_.backend);
  if (!folder) return folder.status();
  backend.state_dir = *folder;
  auto probe = loop->start([this, backend = std::move(backend)](plugin::HostCallbacks callbacks) {
    return plugin::BackendHandle::create(plugin_, backend, std::move(callbacks), nullptr, clock_);
  });
  families_.push_back({family, std::move(health), std::move(loop)});
  return probe;
}

// A full transaction is the most there ever is to do; long quiet follows.
void Daemon::rest_after_burst() {
  base::release_free_memory();
  base::release_startup_pages();
}

void Daemon::set_addresses(const node::InterfaceAddresses& addresses) {
  const std::lock_guard lock(mutex_);
  addresses_ = addresses;
}

std::optional<snapshot::NodeFacts> Daemon::node_facts(base::Family family, const std::optional<model::Node>& node) {
  const bool node_cidr = settings_.local_detector.mode == node::DetectLocalMode::node_cidr;
  if (node_cidr && (!node || node->pod_cidrs.empty())) return std::nullopt;

  snapshot::NodeFacts out;
  out.name = settings_.node_name;
  const node::NodeIps ips = node_ips_of(settings_, node);
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

// BEH 10.1: healthy while it starts, and unless something to be sent is late.
bool Daemon::proxy_healthy() const {
  const auto late = clock_.now() - 2 * settings_.sync_period;
  return std::none_of(families_.begin(), families_.end(), [&](const FamilyRun& run) {
    const auto behind_since = run.loop->status().behind_since;
    return behind_since && *behind_since < late;
  });
}

base::Status Daemon::run() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  const bool wait_for_pod_cidrs = settings_.local_detector.mode == node::DetectLocalMode::node_cidr;
  for (;;) {
    const timespec second{1, 0};
    const int caught = sigtimedwait(&signals, nullptr, wait_for_pod_cidrs ? &second : nullptr);
    if (caught > 0) {
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

void Daemon::stop() {
  // Against the flow, from the outside in; nothing is called that has stopped.
  if (control_) control_->stop();
  service_health_.stop();  // before the loops it asks; what they still tell it has no effect
  if (address_monitor_) address_monitor_->stop();  // before the store it tells
  // A source may wait for room in the store's queue; the store must still be taking.
  if (source_) source_->stop();
  for (auto& run : families_) run.loop->stop();
  if (store_) store_->stop();
  families_.clear();
}

}  // namespace sluice::app
