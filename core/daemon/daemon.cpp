// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/daemon.hpp"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "core/base/log.hpp"
#include "core/base/memory.hpp"
#include "core/daemon/build_info.hpp"
#include "core/daemon/logging.hpp"
#include "core/daemon/status_json.hpp"
#include "core/node/kernel_settings.hpp"
#include "core/node/local_detector.hpp"
#include "core/node/node_ips.hpp"
#include "core/node/node_port_addresses.hpp"
#include "core/observe/control/reload_command.hpp"
#include "core/observe/metrics/process_statistics.hpp"
#include "core/plugin/lookup.hpp"
#include "lib/sysctl.hpp"

namespace sluice::daemon {
namespace {

// BEH 1.4: how long NodeCIDR waits for the controller manager to allocate the pod CIDR.
constexpr std::chrono::minutes kPodCidrTimeout{5};

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

// One of the signals, or a negative number after the timeout.
int wait_for(const sigset_t& signals, const std::optional<lib::Clock::Duration>& timeout) {
  timespec time{};
  if (timeout) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*timeout);
    time.tv_sec = seconds.count();
    time.tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(*timeout - seconds).count();
  }
  return sigtimedwait(&signals, nullptr, timeout ? &time : nullptr);
}

}  // namespace

Daemon::Daemon(config::Settings settings, reload::ReadSettings read_again, base::Notifier notifier,
               std::vector<base::PassedDescriptor> passed)
    : settings_(std::move(settings)),
      node_name_(settings_.get()->node_name),
      notifier_(std::move(notifier)),
      state_dir_(settings_.get()->state_dir),
      events_({.node_name = node_name_}, clock_),
      node_watch_(settings_.get()->bind_address),
      store_(node_name_, {[this](lib::Family family, const std::optional<model::Node>& node,
                                 snapshot::SettingsStage of) { return node_facts(family, node, of); }}),
      address_monitor_(address_monitor()),
      control_(state_dir_.control_socket()),
      observe_(settings_, observe_sources()),
      descriptors_(notifier_, std::move(passed)),
      backends_({state_dir_, store_, metrics_, events_, service_health_, descriptors_, clock_, node_name_}),
      kernel_part_(kernel_part()),
      source_(source_part(), store_, clock_),
      backend_part_(backends_, *this),
      reloader_(settings_, std::move(read_again),
                {[this] {
                   notifier_.reloading();
                   file_watch_.accept_current_content();  // changes so far are part of this reload
                 },
                 [this](const reload::ReloadResult& result) { reloaded(result); }},
                clock_),
      file_watch_([this](const std::vector<std::string>& paths) {
        for (const auto& path : paths) reloader_.request(path + " has changed");
      }),
      parts_(parts()) {
  // Before the servers, which may start before the backend has started.
  metrics_.set_scrape_source([this] { return scrape_data(); });
  control_.on("status", [this](const nlohmann::json&) { return complete_ ? status() : starting_status(); });
  control_.on_slow("reload", observe::reload_command(reloader_));
  control_.on_slow("services", observe::ServicesCommand([this] { return service_views(); }));
  reloader_.add("logging", logging_part_);
  reloader_.add("kernel", kernel_part_);
  reloader_.add("addresses", observe_);
  reloader_.add("source", source_);
  reloader_.add("backend", backend_part_);  // last, because a swap is not rolled back when another part fails
}

Daemon::~Daemon() { parts_.stop(); }

// Fails for settings that cannot work in the families of this node, and warns of suspicious ones.
lib::Status Daemon::check(const config::Settings& settings) {
  const auto& usable = usable_families_;
  for (const auto& warning : node::check_node_port_families(settings.node_ports, usable)) warn_once(warning);
  const auto detector = node::check_detector_families(settings.local_detector, {}, usable);
  // With two families, the Node determines the primary one; node_watch_ checks later.
  if (usable.size() < 2 || !settings.bind_address.is_unspecified()) {
    for (const auto& warning : detector.warnings) warn_once(warning);
  }
  return detector.fatal;
}

void Daemon::set_service_cidrs(bool wanted, const config::Settings& settings) {
  source_.set_service_cidrs(wanted);
  store_.set_options({.external_ips = settings.allow_external_ips, .service_cidrs = wanted});
}

void Daemon::refresh() {
  store_.promote_pending_settings();
  store_.refresh_node_facts();
}

// Watches every file that the running configuration depends on.
void Daemon::watch_files() {
  const auto settings = settings_.get();
  std::vector<reload::WatchedFile> files = source_.files();
  if (!settings->config_file.empty()) files.push_back({settings->config_file, {}});
  // By the path in the plugin folder, which may be a symlink to another target by now.
  const plugin::Folders folders(settings->plugins.folders.begin(), settings->plugins.folders.end());
  const plugin::Plugin& plugin = backends_.serving()->plugin();
  const auto file = plugin::find_plugin(folders, plugin.id());
  files.push_back({file ? file->string() : plugin.file().string(), plugin.sha256()});
  file_watch_.follow(std::move(files));
}

// [reload thread]
void Daemon::reloaded(const reload::ReloadResult& result) {
  watch_files();
  notifier_.ready();
  metrics_.reloaded(result);
  if (result.outcome != reload::ReloadOutcome::unchanged) events_.record(observe::reload_event(node_name_, result));
}

void Daemon::read_conntrack_settings() {
  const auto liberal = node::conntrack_tcp_be_liberal(lib::Sysctl());
  if (!liberal) base::log_warning("node", liberal.status().message());
  conntrack_tcp_liberal_ = liberal.ok() && *liberal;
}

KernelPart::Hooks Daemon::kernel_part() {
  KernelPart::Hooks out;
  out.failed = [this](const std::vector<std::string>& sentences) {
    events_.record(observe::kernel_settings_event(node_name_, sentences));
  };
  out.changed = [this] {
    read_conntrack_settings();
    store_.refresh_node_facts();
  };
  return out;
}

SourcePart::Hooks Daemon::source_part() {
  SourcePart::Hooks out;
  out.make = [this](const config::Settings& settings, bool service_cidrs, model::EventSink& sink) {
    return make_source(settings, service_cidrs, sink, metrics_);
  };
  out.check = check_source;
  out.switch_transport = [this](kube::Transport* transport) { events_.set_transport(transport); };
  out.version = kVersion;
  return out;
}

void Daemon::set_addresses(const node::InterfaceAddresses& addresses) {
  const lib::Lock lock(mutex_);
  addresses_ = addresses;
}

std::optional<snapshot::NodeFacts> Daemon::node_facts(lib::Family family, const std::optional<model::Node>& node,
                                                      snapshot::SettingsStage of) {
  const auto running = settings_.get();
  const auto swap_settings = of == snapshot::SettingsStage::pending ? backend_part_.swap_settings() : nullptr;
  const auto settings = swap_settings ? swap_settings : running;
  observe_.set_node(node);
  node_watch_.set_bind_address(settings->bind_address);
  for (const auto& sentence : node_watch_.update(node, node_name_, settings->local_detector, usable_families_)) {
    base::log_warning("node", sentence);
  }
  if (!node_watch_.fatal().ok()) return std::nullopt;
  const bool node_cidr = settings->local_detector.mode == node::DetectLocalMode::node_cidr;
  if (node_cidr && (!node || node->pod_cidrs.empty())) return std::nullopt;

  snapshot::NodeFacts out;
  out.name = node_name_;
  const node::NodeIps ips = node::choose_node_ips(node_watch_.addresses(), settings->bind_address);
  out.node_ip = ips.of(family);
  // Two backends that serve at the same time must use the same mark; it changes after the swap.
  out.masquerade_mark = running->masquerade_mark();
  out.masquerade_all = settings->masquerade_all;
  out.conntrack_tcp_liberal = conntrack_tcp_liberal_;

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
  for (const auto& warning : node_ports.warnings) warn_once(warning);
  out.node_ports_match_all = node_ports.match_all;
  out.node_port_addresses = std::move(node_ports.addresses);
  out.node_ports_on_localhost = node_ports.on_localhost;
  out.local_addresses = node::local_addresses(addresses, family);
  return out;
}

void Daemon::warn_once(const std::string& warning) {
  {
    const lib::Lock lock(mutex_);
    if (std::find(warned_.begin(), warned_.end(), warning) != warned_.end()) return;
    warned_.push_back(warning);
  }
  base::log_warning("node", warning);
}

ObserveSources Daemon::observe_sources() {
  ObserveSources out;
  out.families = [this] { return family_health(); };
  out.metrics_text = [this] { return metrics_.text(); };
  out.answered_healthz = [this](int code) { metrics_.answered_healthz(code); };
  out.answered_livez = [this](int code) { metrics_.answered_livez(code); };
  out.set_verbosity = [](int verbosity) { set_verbosity(verbosity); };
  out.bind_failed_hard = [this](const std::string& reason, const std::string& sentence) {
    events_.record(observe::bind_failed_event(node_name_, reason, sentence));
  };
  out.version = kVersion;
  const observe::BuildInfo build = observe::build_info();
  out.emulation_version = build.kubernetes_major + "." + build.kubernetes_minor;
  out.started = observe::process_start();
  return out;
}

std::vector<observe::FamilyHealth> Daemon::family_health() const {
  std::vector<observe::FamilyHealth> out;
  const auto now = clock_.now();
  if (!complete_) {
    for (const auto& one : backends_.starting()) {
      const auto waits = now - one.since;
      observe::FamilyHealth family{
          .family = one.loop.family,
          .last_updated =
              std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::system_clock::duration>(waits),
          .pending_for = waits,
          .running_for = waits,
          .error = one.call + " of backend " + one.loop.backend + " has not returned"};
      out.push_back(std::move(family));
    }
    return out;
  }
  const auto serving = backends_.serving();
  for (const auto& of : serving->families()) {
    const auto fresh = of->loop->freshness();
    observe::FamilyHealth family{
        .family = of->family, .last_updated = fresh.last_updated, .last_synced = fresh.last_synced};
    if (fresh.pending_since) family.pending_for = now - *fresh.pending_since;
    if (fresh.begun) family.running_for = now - *fresh.begun;
    if (const auto overdue = of->loop->overdue(); !overdue.empty()) {
      family.error = std::string(overdue) + " takes longer than its limit";
    } else {
      family.error = of->loop->last_error();
    }
    out.push_back(std::move(family));
  }
  return out;
}

lib::Status Daemon::run() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  Supervision supervision(notifier_);
  supervision.ready();
  std::optional<lib::Clock::Duration> watchdog = supervision.interval();
  for (;;) {
    if (watchdog) supervision.report(supervised());
    // A reload may have changed it.
    const bool wait_for_pod_cidrs = settings_.get()->local_detector.mode == node::DetectLocalMode::node_cidr;
    std::optional<lib::Clock::Duration> interval = watchdog;
    if (wait_for_pod_cidrs) {
      const lib::Clock::Duration second = std::chrono::seconds(1);
      interval = std::min(interval.value_or(second), second);
    }
    const int caught = wait_for(signals, interval);
    if (caught == SIGHUP) {
      reloader_.request("SIGHUP");
      continue;
    }
    if (caught > 0) {
      supervision.stopping("rules stay in the kernel");
      base::log_info("app", std::string("stopping on ") + strsignal(caught) + "; rules stay in the kernel");
      parts_.stop();
      return {};
    }
    if (wait_for_pod_cidrs) {
      if (auto status = check_pod_cidrs(); !status.ok()) {
        parts_.stop();
        return status;
      }
    }
  }
}

lib::Status Daemon::check_pod_cidrs() {
  if (auto status = node_watch_.fatal(); !status.ok()) return status;
  if (clock_.now() - started_ < kPodCidrTimeout) return {};
  const auto status = store_.status();
  if (status.facts_known) return {};
  return lib::not_found(status.node ? "node " + node_name_ +
                                           " has no spec.podCIDRs, which detectLocalMode NodeCIDR needs: let the "
                                           "controller manager allocate them, or set another detectLocalMode"
                                     : "node " + node_name_ +
                                           " does not exist, which detectLocalMode NodeCIDR needs: check "
                                           "--hostname-override");
}

Supervised Daemon::supervised() {
  Supervised out;
  const SourcePart::Now source = source_.now();
  out.source = source.kind == config::SourceKind::manifests ? "manifests in " : "the API server ";
  if (source.kind == config::SourceKind::replay) out.source = "the recording ";
  out.source += source.detail;
  out.store = store_.status();
  const auto serving = backends_.serving();
  for (const auto& of : serving->families()) {
    out.families.push_back({of->family, of->loop->status(), std::string(of->loop->overdue())});
  }
  return out;
}

// [thread of a scrape] Does not wait for the store or an apply thread.
observe::ScrapeData Daemon::scrape_data() const {
  observe::ScrapeData out;
  out.events = events_.statistics();
  const auto settings = settings_.get();
  out.features = observe::feature_states(*settings);
  out.kubernetes_version = observe::reported_kubernetes_version(*settings);
  if (!complete_) {
    // The servers start before the backend only if the backend hangs.
    for (const auto& one : backends_.starting()) {
      const std::chrono::duration<double> waits = clock_.now() - one.since;
      out.families.push_back({.family = one.loop.family, .oldest_pending_seconds = waits.count(), .overdue = true});
    }
    return out;
  }
  out.store = store_.statistics();
  out.resources = source_.now().resources;
  const auto now = clock_.now();
  const auto serving = backends_.serving();
  for (const auto& of : serving->families()) {
    const auto fresh = of->loop->freshness();
    const auto since = fresh.last_synced ? fresh.pending_since : fresh.begun;
    const double pending = since ? std::chrono::duration<double>(now - *since).count() : 0.0;
    out.families.push_back({.family = of->family,
                            .loop = of->loop->statistics(),
                            .oldest_pending_seconds = pending,
                            .overdue = !of->loop->overdue().empty(),
                            .synced_once = fresh.last_synced.has_value()});
  }
  const auto add_plugin = [&](const plugin::Plugin& plugin) {
    const abi::PluginEntry& entry = plugin.entry();
    out.plugins.push_back(
        {plugin.id(), plugin.version(), std::to_string(entry.major) + "." + std::to_string(entry.minor)});
  };
  add_plugin(serving->plugin());
  return out;
}

nlohmann::json Daemon::status() {
  StatusInput in;
  const auto serving = backends_.serving();
  in.node_name = node_name_;
  in.plugin = &serving->plugin();
  in.store = store_.published();
  SourcePart::Now source = source_.now();
  in.source_kind = source.kind;
  in.source = std::move(source.detail);
  in.resources = std::move(source.resources);
  in.recording = std::move(source.recording);
  for (const auto& of : serving->families()) {
    in.families.push_back({of->family, of->loop->status(), std::string(of->loop->overdue())});
  }
  in.swap = backends_.swap_progress();
  for (const auto& entry : backends_.retiring()) {
    StatusInput::Retiring retiring;
    retiring.backend = entry.run->plugin().id();
    for (const auto& of : entry.run->families()) retiring.families.push_back(of->family);
    retiring.until = std::chrono::system_clock::now() + (entry.until - clock_.now());
    retiring.error = entry.error;
    in.retiring.push_back(std::move(retiring));
  }
  in.reload = reloader_.status();
  return status_json(in);
}

// [control thread] A view may outlive its backend; its callbacks then do nothing.
std::vector<observe::ServiceView> Daemon::service_views() {
  if (!complete_) throw std::runtime_error("the backend has not started yet");
  std::vector<observe::ServiceView> out;
  const auto serving = backends_.serving();
  for (const auto& of : serving->families()) {
    observe::ServiceView view;
    view.family = of->family;
    view.backend = serving->plugin().id();
    const std::weak_ptr<lifecycle::BackendRun> run = serving;
    sync::SyncLoop* const loop = of->loop.get();
    if (loop->inspectable()) {
      view.inspect = [run, loop](sync::SyncLoop::Inspect question) {
        if (const auto there = run.lock()) loop->inspect(std::move(question));
      };
    }
    view.describe = [this, subscription = of->subscription.load()](snapshot::DescribeRequest request) {
      store_.describe(subscription, std::move(request));
    };
    view.in_progress = [run, loop]() -> std::string {
      const auto there = run.lock();
      return there ? std::string(loop->in_progress()) : std::string();
    };
    out.push_back(std::move(view));
  }
  return out;
}

}  // namespace sluice::daemon
