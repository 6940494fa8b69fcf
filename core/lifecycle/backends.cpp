// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/backends.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/log.hpp"
#include "core/base/memory.hpp"
#include "core/cleanup/ipvs_connections.hpp"
#include "core/config/mode_table.hpp"
#include "core/lifecycle/backend_options.hpp"
#include "core/lifecycle/load_backend.hpp"
#include "core/node/family_support.hpp"
#include "core/observe/events/node_events.hpp"
#include "core/plugin/lookup.hpp"
#include "core/sync/sync_loop.hpp"
#include "lib/sha256.hpp"

namespace sluice::lifecycle {
namespace {

// BEH 4: maximum time between two full syncs.
constexpr std::chrono::hours kFullSyncInterval{1};
// Effectively unlimited: the timeout of the service manager is shorter.
constexpr std::chrono::hours kStartTimeout{24};
constexpr std::chrono::seconds kAdoptTimeout{60};
constexpr std::chrono::seconds kClaimsTimeout{15};

constexpr abi::Family abi_family(lib::Family family) {
  return family == lib::Family::ipv4 ? abi::Family::kIpv4 : abi::Family::kIpv6;
}

sync::SyncLoop::Options loop_options(const config::Settings& settings) {
  sync::SyncLoop::Options out;
  out.intervals.min = settings.min_sync_period;
  out.intervals.retry = settings.sync_period;
  out.intervals.max = std::max<lib::Clock::Duration>(kFullSyncInterval, settings.sync_period);
  out.verify_every = sync::verify_interval(settings.sync_period);
  return out;
}

}  // namespace

Backends::Backends(Dependencies dependencies)
    : dependencies_(std::move(dependencies)),
      retirement_({},
                  {.ending = [this](const Retirement::Entry& entry) { ending(entry); },
                   .settled = [this](const Retirement::Entry& entry) { return settled(entry); },
                   .gone = [this](const Retirement::Entry& entry, bool clean) { gone(entry, clean); }},
                  dependencies_.clock) {}

Backends::~Backends() { stop(); }

BackendRun::Settings Backends::run_settings(const config::Settings& settings, const std::string& state_dir) {
  BackendRun::Settings out;
  const auto options = backend_options(settings);
  for (const lib::Family family : lib::kFamilies) {
    plugin::BackendSettings& backend = out.backend[lib::family_index(family)];
    backend.family = abi_family(family);
    backend.options = options;
    backend.state_dir = state_dir;
  }
  out.loop = loop_options(settings);
  return out;
}

lib::Result<std::shared_ptr<const plugin::Plugin>> Backends::load(const config::PluginSettings& plugins,
                                                                  const std::string& id) const {
  return load_backend(plugins, id, /*copy=*/true);
}

lib::Result<std::array<lib::Status, 2>> Backends::start(const config::Settings& settings) {
  auto loaded = load(settings.plugins, settings.backend);
  if (!loaded) return loaded.status();
  const auto folder = dependencies_.state_dir.backend_folder(settings.backend);
  if (!folder) return folder.status();
  at_start_ = settings;

  // Both families in parallel, because probing kernel tools is slow.
  std::array<lib::Status, 2> out;
  auto run = run_settings(settings, *folder);
  run.id = ++last_id_;
  run.plugin = std::move(*loaded);
  const auto claims = dependencies_.state_dir.claims();
  for (const lib::Family family : lib::kFamilies) {
    lib::Status& status = out[lib::family_index(family)];
    if (family == lib::Family::ipv6) status = node::check_ipv6();
    if (status.ok() && !run.plugin->has(family == lib::Family::ipv4 ? abi::kFeatureIpv4 : abi::kFeatureIpv6)) {
      status = {lib::StatusCode::unsupported,
                "backend " + settings.backend + " does not support " + std::string(lib::family_name(family))};
    }
    if (!status.ok()) continue;
    run.families.push_back(family);
    // Leftover state of another backend serves until the first sync of this backend.
    run.backend[lib::family_index(family)].predecessor_serves = std::any_of(
        claims.begin(), claims.end(),
        [&](const ownership::Claim& claim) { return claim.family == family && claim.backend != settings.backend; });
  }
  auto of_start = callbacks();
  of_start.starting = [this](RunId, lib::Family family, std::string_view call) { starting(family, call); };
  auto made = std::make_shared<BackendRun>(std::move(run), std::move(of_start), &dependencies_.metrics.plugin_sink(),
                                           dependencies_.clock);
  const auto started = made->start(kStartTimeout);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].ok()) out[i] = started[i];
  }
  const std::lock_guard lock(mutex_);
  serving_ = std::move(made);
  return out;
}

lib::Status Backends::subscribe(snapshot::StoreThread& store, const std::vector<lib::Family>& families) {
  const auto run = serving();
  make_families(families);
  auto claims = run->claims(kClaimsTimeout);
  if (!claims) return claims.status();
  if (const auto status = record(*run, *claims, ownership::ClaimState::serving); !status.ok()) {
    base::log_warning("app", status.message());
  }
  // Includes the same backend: an earlier plugin file may have left artifacts that this file does not claim.
  find_leftover_backends(at_start_, families);
  startup_cleanup_->expect(families);
  {
    const std::lock_guard lock(mutex_);
    awaited_ = families;
  }
  for (const lib::Family family : families) {
    served(family)->serve(run->id(), run->plugin().has(abi::kFeatureOwnConnections));
  }
  store_ = &store;
  retirement_.set_successor(*claims);
  retirement_.start();
  swapper_ = std::make_unique<Swapper>(Swapper::Timeouts(), swap_hooks(), retirement_, dependencies_.clock);
  run->subscribe(store);
  warn_deprecated(run->plugin().id());
  return {};
}

void Backends::make_families(const std::vector<lib::Family>& families) {
  for (const lib::Family family : families) {
    Family& of = families_[lib::family_index(family)];
    conntrack::ConntrackReconciler::Options options;
    options.family = family;
    options.memory_file =
        dependencies_.state_dir.path() + (family == lib::Family::ipv4 ? "/udp-frontends-ipv4" : "/udp-frontends-ipv6");
    options.reconciled = [this, family](double seconds, std::uint64_t deleted) {
      dependencies_.metrics.conntrack_reconciled(family, seconds, deleted);
    };
    of.conntrack = std::make_unique<conntrack::ConntrackReconciler>(
        std::move(options), std::make_unique<conntrack::KernelConntrackTable>());
    of.conntrack->start();
    conntrack::ConntrackReconciler* const conntrack = of.conntrack.get();
    ServedFamily::Sinks sinks;
    sinks.flows = [conntrack](conntrack::UdpChange change) { conntrack->put(std::move(change)); };
    sinks.old_backend = [conntrack](conntrack::ConntrackReconciler::OldBackend old_backend) {
      conntrack->set_old_backend(std::move(old_backend));
    };
    sinks.health = [this, family](const snapshot::NodeFacts& node, std::vector<observe::ServiceHealthUpdate> updates) {
      dependencies_.service_health.set_addresses(
          family, node.node_ports_match_all ? std::nullopt : std::optional(node.node_port_addresses));
      for (auto& update : updates) {
        dependencies_.service_health.set(family, std::move(update.name_space), std::move(update.name), update.port,
                                         update.local_endpoints);
      }
    };
    of.served = std::make_unique<ServedFamily>(std::move(sinks));
  }
}

ServedFamily* Backends::served(lib::Family family) const { return families_[lib::family_index(family)].served.get(); }

BackendRun::Callbacks Backends::callbacks() {
  BackendRun::Callbacks out;
  out.claims = [this](RunId run, lib::Family family, const std::vector<std::string>& claims) {
    claimed(run, family, claims);
  };
  out.applied = [this](RunId run, lib::Family family, const snapshot::Transaction& transaction) {
    served(family)->applied(run, transaction);
    // Memory use peaks at a full transaction, and is low for long afterwards.
    if (transaction.full) base::release_free_memory();
  };
  out.synced = [this](RunId run, lib::Family family, const sync::SyncReport& report) {
    if (const auto now = serving(); now && now->id() == run) dependencies_.metrics.synced(family, report);
  };
  out.not_programmed = [this](RunId run, const plugin::FailedServicePort& failed) {
    if (const auto now = serving(); now && now->id() == run) {
      dependencies_.events.record(observe::not_programmed_event(now->plugin().id(), failed));
    }
  };
  out.event = [this](const std::string& backend, abi::Severity severity, const std::string& reason,
                     const std::string& note, const std::optional<plugin::ServicePortName>& regarding) {
    dependencies_.events.record(
        observe::backend_event(dependencies_.node_name, backend, severity, reason, note, regarding));
  };
  out.relays = [this](RunId run, lib::Family family, plugin::RelayedPort port) {
    if (ServedFamily* const of = served(family)) of->relays(run, std::move(port));
  };
  out.descriptors = [this](const std::string& id, lib::Family family) {
    return dependencies_.descriptors.store_for(id, family);
  };
  return out;
}

lib::Status Backends::record(const BackendRun& run, const Claims& claims, ownership::ClaimState state,
                             std::optional<std::chrono::system_clock::time_point> until) {
  lib::Status out;
  for (const auto& of : run.families()) {
    const auto status =
        dependencies_.state_dir.record({run.plugin().id(), of->family, state, run.plugin().file().string(), until,
                                        claims[lib::family_index(of->family)]});
    if (!status.ok()) out = status;
  }
  return out;
}

void Backends::forget(const BackendRun& run, ownership::ClaimState state) {
  for (const auto& of : run.families()) {
    if (const auto status = dependencies_.state_dir.forget(run.plugin().id(), of->family, state); !status.ok()) {
      base::log_warning("app", status.message());
    }
  }
}

// [apply thread] After a sync; only the first sync of each family matters.
void Backends::claimed(RunId run, lib::Family family, const std::vector<std::string>& claims) {
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || !serving_ || serving_->id() != run) return;
    if (std::erase(awaited_, family) == 0) return;
    all = awaited_.empty();
    // Before the clean-up, which spares artifacts of draining backends.
    if (all) adopter_ = std::thread([this] { adopt_leftover_backends(); });
  }
  startup_cleanup_->family_synced(family, claims);
}

// [apply thread]
void Backends::starting(lib::Family family, std::string_view call) {
  const std::lock_guard lock(mutex_);
  std::erase_if(starting_, [family](const Starting& one) { return one.family == family; });
  if (!call.empty()) starting_.push_back({at_start_.backend, family, std::string(call), dependencies_.clock.now()});
}

std::vector<Backends::Starting> Backends::starting() const {
  const std::lock_guard lock(mutex_);
  return starting_;
}

std::shared_ptr<BackendRun> Backends::serving() const {
  const std::lock_guard lock(mutex_);
  return serving_;
}

SwapProgress Backends::swap_progress() const { return swapper_ ? swapper_->progress() : SwapProgress(); }

void Backends::set_intervals(const config::Settings& settings) { serving()->set_intervals(loop_options(settings)); }

bool Backends::wants_swap(const config::Settings& to) const {
  const auto run = serving();
  if (run->plugin().id() != to.backend) return true;
  const auto wanted = run_settings(to, {});
  const auto& now = run->settings();
  for (const auto& of : run->families()) {
    const std::size_t index = lib::family_index(of->family);
    if (now.backend[index].options != wanted.backend[index].options) return true;
  }
  const plugin::Folders folders(to.plugins.folders.begin(), to.plugins.folders.end());
  const auto file = plugin::find_plugin(folders, to.backend);
  if (!file) return true;  // the swap reports the error
  const auto sum = lib::file_sha256(file->string());
  return !sum || *sum != run->plugin().sha256();
}

SwapResult Backends::swap(const config::Settings& to, std::function<void(const plugin::Plugin&)> before_subscribe) {
  before_subscribe_ = std::move(before_subscribe);
  SwapRequest request;
  request.to = to.backend;
  request.load = [&] { return load(to.plugins, to.backend); };
  request.settings = [&](const plugin::Plugin&) -> lib::Result<BackendRun::Settings> {
    const auto folder = dependencies_.state_dir.backend_folder(to.backend);
    if (!folder) return folder.status();
    return run_settings(to, *folder);
  };
  request.drain = to.drain_timeout;
  auto result = swapper_->swap(request);
  before_subscribe_ = nullptr;
  if (result.status.ok()) warn_deprecated(to.backend);
  dependencies_.metrics.swapped(result.from, result.to, result.status.ok(), result.seconds,
                                result.longest_wait_seconds);
  return result;
}

void Backends::warn_deprecated(const std::string& backend) {
  const config::ModeFacts& mode = config::mode_facts(backend);
  if (mode.deprecation.empty()) return;
  const auto event = observe::deprecation_event(dependencies_.node_name, mode);
  base::log_warning("app", event.note);
  dependencies_.events.record(event);
}

Swapper::Hooks Backends::swap_hooks() {
  Swapper::Hooks out;
  out.store = store_;
  out.next_id = [this] { return ++last_id_; };
  out.run = callbacks();
  out.metrics = &dependencies_.metrics.plugin_sink();
  out.serving = [this] { return serving(); };
  out.arriving = [this](const BackendRun& run, const Claims& claims) {
    for (const auto& of : run.families()) startup_cleanup_->keep(of->family, claims[lib::family_index(of->family)]);
    return record(run, claims, ownership::ClaimState::arriving);
  };
  out.serve = [this](std::shared_ptr<BackendRun> run, const Claims& claims) { serve(std::move(run), claims); };
  out.retiring = [this](const BackendRun& run, const Claims& claims, std::chrono::system_clock::time_point until) {
    if (const auto status = record(run, claims, ownership::ClaimState::retiring, until); !status.ok()) {
      base::log_warning("app", status.message());
    }
  };
  out.undone = [this](const BackendRun& run) { forget_run(run, {ownership::ClaimState::arriving}); };
  out.before_subscribe = [this](const plugin::Plugin& plugin) {
    if (before_subscribe_) before_subscribe_(plugin);
  };
  return out;
}

void Backends::serve(std::shared_ptr<BackendRun> run, const Claims& claims) {
  if (const auto status = record(*run, claims, ownership::ClaimState::serving); !status.ok()) {
    base::log_warning("app", status.message());
  }
  const auto now = run;
  for (const auto& of : now->families()) {
    served(of->family)->serve(now->id(), now->plugin().has(abi::kFeatureOwnConnections));
  }
  {
    const std::lock_guard lock(mutex_);
    serving_ = std::move(run);
  }
  // The new backend has synced. If the first backend never did, this completes the start.
  for (const auto& of : now->families()) claimed(now->id(), of->family, claims[lib::family_index(of->family)]);
}

// [thread of the retirement]
void Backends::ending(const Retirement::Entry& entry) {
  for (const auto& of : entry.run->families()) served(of->family)->ending(entry.run->id());
}

// [thread of the retirement]
bool Backends::settled(const Retirement::Entry& entry) const {
  return std::all_of(entry.run->families().begin(), entry.run->families().end(),
                     [this](const auto& of) { return families_[lib::family_index(of->family)].conntrack->settled(); });
}

// [thread of the retirement]
void Backends::gone(const Retirement::Entry& entry, bool clean) {
  const BackendRun& run = *entry.run;
  // Two runs of the same backend may retire, after two swaps of its plugin file.
  const auto retiring = retirement_.list();
  const bool last = std::none_of(retiring.begin(), retiring.end(), [&](const Retirement::Entry& other) {
    return other.run != entry.run && other.undo == entry.undo && other.run->plugin().id() == run.plugin().id();
  });
  std::vector<ownership::ClaimState> states;
  {
    const std::lock_guard lock(mutex_);
    const auto adopted = adopted_.find(run.id());
    if (adopted != adopted_.end()) {
      if (clean) states = adopted->second;
      adopted_.erase(adopted);
    } else if (clean && last) {
      states = {entry.undo ? ownership::ClaimState::arriving : ownership::ClaimState::retiring};
    }
  }
  forget_run(run, states);
  if (clean) {
    base::log_info("swap",
                   "backend " + run.plugin().id() + (entry.undo ? ": removed its kernel state" : " has retired"));
  }
  // The active backend may share artifacts with the removed one.
  if (entry.undo) {
    for (const auto& of : serving()->families())
      of->loop->request_full("backend " + run.plugin().id() + " was rolled back");
  }
}

void Backends::forget_run(const BackendRun& run, const std::vector<ownership::ClaimState>& states) {
  for (const ownership::ClaimState state : states) forget(run, state);
  for (const auto& of : run.families()) served(of->family)->gone(run.id());
}

void Backends::find_leftover_backends(const config::Settings& settings, const std::vector<lib::Family>& families) {
  cleanup::StartupCleanup::Options options;
  options.drain = std::chrono::duration_cast<std::chrono::milliseconds>(settings.drain_timeout);
  options.removed = [this](const cleanup::LeftoverBackend& gone) {
    const auto retiring = retirement_.list();
    const bool again = std::any_of(retiring.begin(), retiring.end(), [&](const Retirement::Entry& entry) {
      return entry.run->plugin().id() == gone.backend;
    });
    for (const ownership::ClaimState state : gone.states) {
      // The entry now belongs to a run of this process.
      if (state == ownership::ClaimState::retiring && again) continue;
      if (const auto status = dependencies_.state_dir.forget(gone.backend, gone.family, state); !status.ok()) {
        base::log_warning("app", status.message());
      }
    }
  };
  startup_cleanup_ = std::make_unique<cleanup::StartupCleanup>(settings.backend, std::move(options));
  cleanup::LeftoverInput input;
  input.ownership_ledger = dependencies_.state_dir.claims();
  input.own = settings.backend;
  const plugin::Folders folders(settings.plugins.folders.begin(), settings.plugins.folders.end());
  for (const std::string& id : plugin::available_plugins(folders)) input.installed.push_back(id);
  input.families = families;
  input.ipvs_in_use = cleanup::ipvs_in_use();
  input.drain = std::chrono::duration_cast<std::chrono::seconds>(settings.drain_timeout);
  input.now = std::chrono::system_clock::now();
  leftover_backends_ = cleanup::find_leftover_backends(input);
  startup_cleanup_->set_leftover_backends(leftover_backends_);
}

// On its own thread, because it would block an apply thread.
void Backends::adopt_leftover_backends() {
  std::map<std::string, std::vector<cleanup::LeftoverBackend>> by_backend;
  for (cleanup::LeftoverBackend& leftover : leftover_backends_) {
    if (leftover.by == cleanup::LeftoverBackend::By::plugin) by_backend[leftover.backend].push_back(std::move(leftover));
  }
  for (const auto& [backend, found] : by_backend) {
    if (!stopping_) adopt(backend, found);
  }
  drop_descriptors();
}

// Drops descriptors of backends that neither serve nor retire.
void Backends::drop_descriptors() {
  const auto pause = retirement_.pause();  // also excludes a swap, during which a run is in neither list
  std::vector<std::string> in_use{serving()->plugin().id()};
  for (const auto& entry : retirement_.list()) in_use.push_back(entry.run->plugin().id());
  dependencies_.descriptors.drop_unused(in_use);
}

// Retires leftover state of an earlier process with a new run that never serves.
void Backends::adopt(const std::string& backend, const std::vector<cleanup::LeftoverBackend>& found) {
  const auto failed = [&](const lib::Status& status) {
    base::log_error("swap", "cannot remove leftover state of backend " + backend + ": " + status.message() +
                                "; retry at the next start, or run sluiced --cleanup now");
  };
  auto loaded = load(at_start_.plugins, backend);
  if (!loaded) return failed(loaded.status());
  const auto folder = dependencies_.state_dir.backend_folder(backend);
  if (!folder) return failed(folder.status());
  config::Settings settings = at_start_;
  settings.backend = backend;
  settings.mode_options.clear();
  auto run = run_settings(settings, *folder);
  run.id = ++last_id_;
  run.plugin = std::move(*loaded);
  run.loop.held = true;
  std::chrono::seconds drain{0};
  std::vector<ownership::ClaimState> states;
  for (const cleanup::LeftoverBackend& leftover : found) {
    run.families.push_back(leftover.family);
    drain = std::max(drain, leftover.drain);
    states.insert(states.end(), leftover.states.begin(), leftover.states.end());
  }
  auto made = std::make_shared<BackendRun>(std::move(run), callbacks(), &dependencies_.metrics.plugin_sink(),
                                           dependencies_.clock);
  for (const auto& status : made->start(kAdoptTimeout)) {
    if (status.ok()) continue;
    failed(status);
    // A run with a call in progress cannot be released yet.
    if (made->busy()) {
      const std::lock_guard lock(mutex_);
      adopted_[made->id()] = {};
      retirement_.add({.run = made, .until = dependencies_.clock.now()});
    }
    return;
  }
  base::log_info("swap", "retiring leftover state of backend " + backend + ": draining its connections for at most " +
                             std::to_string(drain.count()) + " s");
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    adopted_[made->id()] = states;
  }
  for (const auto& of : made->families()) {
    served(of->family)->inherit(made->id(), made->plugin().has(abi::kFeatureOwnConnections));
  }
  retirement_.add({.run = std::move(made), .until = dependencies_.clock.now() + drain});
}

void Backends::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  if (adopter_.joinable()) adopter_.join();
  retirement_.stop();
  if (const auto run = serving()) run->stop();
  if (startup_cleanup_) startup_cleanup_->stop();
  for (Family& of : families_) {
    if (of.conntrack) of.conntrack->stop();
  }
}

}  // namespace sluice::lifecycle
