// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/backends.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/log.hpp"
#include "core/base/memory.hpp"
#include "core/base/sha256.hpp"
#include "core/cleanup/ipvs_connections.hpp"
#include "core/lifecycle/backend_options.hpp"
#include "core/lifecycle/load_backend.hpp"
#include "core/node/family_support.hpp"
#include "core/observe/events/node_events.hpp"
#include "core/plugin/lookup.hpp"
#include "core/sync/sync_loop.hpp"

namespace sluice::lifecycle {
namespace {

// BEH 4: everything is compared with the kernel at the latest this long after the last time.
constexpr std::chrono::hours kFullSyncInterval{1};
// A backend may take 10 s for each of the two; at a start nobody else is served meanwhile.
constexpr std::chrono::hours kStartPatience{24};  // the service manager has less
constexpr std::chrono::seconds kAdoptPatience{60};
constexpr std::chrono::seconds kClaimsPatience{15};

constexpr abi::Family abi_family(base::Family family) {
  return family == base::Family::ipv4 ? abi::Family::kIpv4 : abi::Family::kIpv6;
}

sync::SyncLoop::Options loop_options(const config::Settings& settings) {
  sync::SyncLoop::Options out;
  out.intervals.min = settings.min_sync_period;
  out.intervals.retry = settings.sync_period;
  out.intervals.max = std::max<base::Clock::Duration>(kFullSyncInterval, settings.sync_period);
  out.verify_every = sync::verify_interval(settings.sync_period);
  return out;
}

}  // namespace

Backends::Backends(Surroundings surroundings)
    : around_(std::move(surroundings)),
      retirement_({},
                  {.ending = [this](const Retirement::Entry& entry) { ending(entry); },
                   .settled = [this](const Retirement::Entry& entry) { return settled(entry); },
                   .gone = [this](const Retirement::Entry& entry, bool clean) { gone(entry, clean); }},
                  around_.clock) {}

Backends::~Backends() { stop(); }

BackendRun::Settings Backends::run_settings(const config::Settings& settings, const std::string& state_dir) {
  BackendRun::Settings out;
  const auto options = backend_options(settings);
  for (const base::Family family : base::kFamilies) {
    plugin::BackendSettings& backend = out.backend[base::family_index(family)];
    backend.family = abi_family(family);
    backend.options = options;
    backend.state_dir = state_dir;
  }
  out.loop = loop_options(settings);
  return out;
}

base::Result<std::shared_ptr<const plugin::Plugin>> Backends::load(const config::PluginSettings& plugins,
                                                                   const std::string& id) const {
  return load_backend(plugins, id, /*copy=*/true);
}

base::Result<std::array<base::Status, 2>> Backends::start(const config::Settings& settings) {
  auto loaded = load(settings.plugins, settings.backend);
  if (!loaded) return loaded.status();
  const auto folder = around_.state_dir.backend_folder(settings.backend);
  if (!folder) return folder.status();
  at_start_ = settings;

  // Both families at once: finding and probing the tools of the kernel takes its time.
  std::array<base::Status, 2> out;
  auto run = run_settings(settings, *folder);
  run.id = ++last_id_;
  run.plugin = std::move(*loaded);
  const auto claims = around_.state_dir.claims();
  for (const base::Family family : base::kFamilies) {
    base::Status& status = out[base::family_index(family)];
    if (family == base::Family::ipv6) status = node::check_ipv6();
    if (status.ok() && !run.plugin->has(family == base::Family::ipv4 ? abi::kFeatureIpv4 : abi::kFeatureIpv6)) {
      status = {base::StatusCode::unsupported,
                "backend " + settings.backend + " does not support " + std::string(base::family_name(family))};
    }
    if (!status.ok()) continue;
    run.families.push_back(family);
    // What another backend has left serves until this one stands.
    run.backend[base::family_index(family)].predecessor_serves = std::any_of(
        claims.begin(), claims.end(),
        [&](const ownership::Claim& claim) { return claim.family == family && claim.backend != settings.backend; });
  }
  auto of_start = callbacks();
  of_start.starting = [this](RunId, base::Family family, std::string_view call) { starting(family, call); };
  auto made =
      std::make_shared<BackendRun>(std::move(run), std::move(of_start), &around_.metrics.of_plugins(), around_.clock);
  const auto started = made->start(kStartPatience);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].ok()) out[i] = started[i];
  }
  const std::lock_guard lock(mutex_);
  serving_ = std::move(made);
  return out;
}

base::Status Backends::feed(snapshot::StoreThread& store, const std::vector<base::Family>& families) {
  const auto run = serving();
  make_families(families);
  auto claims = run->claims(kClaimsPatience);
  if (!claims) return claims.status();
  if (const auto status = record(*run, *claims, ownership::ClaimState::serving); !status.ok()) {
    base::log_warning("app", status.message());
  }
  // Of the own backend, too, an earlier file may have left what this one does not claim.
  find_absent(at_start_, families);
  startup_cleanup_->expect(families);
  {
    const std::lock_guard lock(mutex_);
    awaited_ = families;
  }
  for (const base::Family family : families) {
    served(family)->serve(run->id(), run->plugin().has(abi::kFeatureOwnConnections));
  }
  store_ = &store;
  retirement_.set_successor(*claims);
  retirement_.start();
  swapper_ = std::make_unique<Swapper>(Swapper::Limits(), swap_surroundings(), retirement_, around_.clock);
  run->feed(store);
  tell_deprecated(run->plugin().id());
  return {};
}

void Backends::make_families(const std::vector<base::Family>& families) {
  for (const base::Family family : families) {
    Family& of = families_[base::family_index(family)];
    conntrack::ConntrackReconciler::Options options;
    options.family = family;
    options.memory_file =
        around_.state_dir.path() + (family == base::Family::ipv4 ? "/udp-frontends-ipv4" : "/udp-frontends-ipv6");
    options.reconciled = [this, family](double seconds, std::uint64_t deleted) {
      around_.metrics.conntrack_reconciled(family, seconds, deleted);
    };
    of.conntrack = std::make_unique<conntrack::ConntrackReconciler>(
        std::move(options), std::make_unique<conntrack::KernelConntrackTable>());
    of.conntrack->start();
    conntrack::ConntrackReconciler* const conntrack = of.conntrack.get();
    ServedFamily::Sinks sinks;
    sinks.flows = [conntrack](conntrack::UdpChange change) { conntrack->put(std::move(change)); };
    sinks.predecessor = [conntrack](conntrack::ConntrackReconciler::Predecessor predecessor) {
      conntrack->set_predecessor(std::move(predecessor));
    };
    sinks.health = [this, family](const snapshot::NodeFacts& node, std::vector<observe::ServiceHealthUpdate> updates) {
      around_.service_health.set_addresses(
          family, node.node_ports_match_all ? std::nullopt : std::optional(node.node_port_addresses));
      for (auto& update : updates) {
        around_.service_health.set(family, std::move(update.name_space), std::move(update.name), update.port,
                                   update.local_endpoints);
      }
    };
    of.served = std::make_unique<ServedFamily>(std::move(sinks));
  }
}

ServedFamily* Backends::served(base::Family family) const { return families_[base::family_index(family)].served.get(); }

BackendRun::Callbacks Backends::callbacks() {
  BackendRun::Callbacks out;
  out.claims = [this](RunId run, base::Family family, const std::vector<std::string>& claims) {
    claimed(run, family, claims);
  };
  out.applied = [this](RunId run, base::Family family, const snapshot::Transaction& transaction) {
    served(family)->applied(run, transaction);
    // A full transaction is the most there ever is to do; long quiet follows.
    if (transaction.full) base::release_free_memory();
  };
  out.synced = [this](RunId run, base::Family family, const sync::SyncReport& report) {
    if (const auto now = serving(); now && now->id() == run) around_.metrics.synced(family, report);
  };
  out.left_out = [this](RunId run, const plugin::FailedServicePort& failed) {
    if (const auto now = serving(); now && now->id() == run) {
      around_.events.record(observe::left_out_event(now->plugin().id(), failed));
    }
  };
  out.event = [this](const std::string& backend, abi::Severity severity, const std::string& reason,
                     const std::string& note, const std::optional<plugin::ServicePortName>& regarding) {
    around_.events.record(observe::backend_event(around_.node_name, backend, severity, reason, note, regarding));
  };
  out.relays = [this](RunId run, base::Family family, plugin::RelayedPort port) {
    if (ServedFamily* const of = served(family)) of->relays(run, std::move(port));
  };
  out.descriptors = [this](const std::string& id, base::Family family) { return around_.descriptors.of(id, family); };
  return out;
}

base::Status Backends::record(const BackendRun& run, const Claims& claims, ownership::ClaimState state,
                              std::optional<std::chrono::system_clock::time_point> until) {
  base::Status out;
  for (const auto& of : run.families()) {
    const auto status = around_.state_dir.record({run.plugin().id(), of->family, state, run.plugin().file().string(),
                                                  until, claims[base::family_index(of->family)]});
    if (!status.ok()) out = status;
  }
  return out;
}

void Backends::forget(const BackendRun& run, ownership::ClaimState state) {
  for (const auto& of : run.families()) {
    if (const auto status = around_.state_dir.forget(run.plugin().id(), of->family, state); !status.ok()) {
      base::log_warning("app", status.message());
    }
  }
}

// [apply thread] The first time everything is in the kernel.
void Backends::claimed(RunId run, base::Family family, const std::vector<std::string>& claims) {
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || !serving_ || serving_->id() != run) return;
    if (std::erase(awaited_, family) == 0) return;
    all = awaited_.empty();
    // Before the clean-up, which spares what somebody still drains.
    if (all) adopter_ = std::thread([this] { adopt_absent(); });
  }
  startup_cleanup_->stands(family, claims);
}

// [apply thread]
void Backends::starting(base::Family family, std::string_view call) {
  const std::lock_guard lock(mutex_);
  std::erase_if(starting_, [family](const Starting& one) { return one.family == family; });
  if (!call.empty()) starting_.push_back({at_start_.backend, family, std::string(call), around_.clock.now()});
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
    const std::size_t index = base::family_index(of->family);
    if (now.backend[index].options != wanted.backend[index].options) return true;
  }
  const plugin::Folders folders(to.plugins.folders.begin(), to.plugins.folders.end());
  const auto file = plugin::find_plugin(folders, to.backend);
  if (!file) return true;  // the swap says what is wrong
  const auto sum = base::file_sha256(file->string());
  return !sum || *sum != run->plugin().sha256();
}

SwapResult Backends::swap(const config::Settings& to, std::function<void(const plugin::Plugin&)> before_feed) {
  before_feed_ = std::move(before_feed);
  SwapRequest request;
  request.to = to.backend;
  request.load = [&] { return load(to.plugins, to.backend); };
  request.settings = [&](const plugin::Plugin&) -> base::Result<BackendRun::Settings> {
    const auto folder = around_.state_dir.backend_folder(to.backend);
    if (!folder) return folder.status();
    return run_settings(to, *folder);
  };
  request.drain = to.drain_timeout;
  auto result = swapper_->swap(request);
  before_feed_ = nullptr;
  if (result.status.ok()) tell_deprecated(to.backend);
  around_.metrics.swapped(result.from, result.to, result.status.ok(), result.seconds, result.longest_wait_seconds);
  return result;
}

void Backends::tell_deprecated(const std::string& backend) {
  if (backend != "ipvs") return;
  const auto event = observe::ipvs_deprecation_event(around_.node_name);
  base::log_warning("app", event.note);
  around_.events.record(event);
}

Swapper::Surroundings Backends::swap_surroundings() {
  Swapper::Surroundings out;
  out.store = store_;
  out.next_id = [this] { return ++last_id_; };
  out.run = callbacks();
  out.metrics = &around_.metrics.of_plugins();
  out.serving = [this] { return serving(); };
  out.arriving = [this](const BackendRun& run, const Claims& claims) {
    for (const auto& of : run.families()) startup_cleanup_->keep(of->family, claims[base::family_index(of->family)]);
    return record(run, claims, ownership::ClaimState::arriving);
  };
  out.serve = [this](std::shared_ptr<BackendRun> run, const Claims& claims) { serve(std::move(run), claims); };
  out.retiring = [this](const BackendRun& run, const Claims& claims, std::chrono::system_clock::time_point until) {
    if (const auto status = record(run, claims, ownership::ClaimState::retiring, until); !status.ok()) {
      base::log_warning("app", status.message());
    }
  };
  out.undone = [this](const BackendRun& run) { left(run, {ownership::ClaimState::arriving}); };
  out.before_feed = [this](const plugin::Plugin& plugin) {
    if (before_feed_) before_feed_(plugin);
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
  // All is in the kernel already: if the first one never came so far, the start ends here.
  for (const auto& of : now->families()) claimed(now->id(), of->family, claims[base::family_index(of->family)]);
}

// [thread of the retirement]
void Backends::ending(const Retirement::Entry& entry) {
  for (const auto& of : entry.run->families()) served(of->family)->ending(entry.run->id());
}

// [thread of the retirement]
bool Backends::settled(const Retirement::Entry& entry) const {
  return std::all_of(entry.run->families().begin(), entry.run->families().end(),
                     [this](const auto& of) { return families_[base::family_index(of->family)].conntrack->settled(); });
}

// [thread of the retirement]
void Backends::gone(const Retirement::Entry& entry, bool clean) {
  const BackendRun& run = *entry.run;
  // Of one backend there may be two that retire: a plugin whose file was exchanged twice.
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
  left(run, states);
  if (clean) {
    base::log_info("swap",
                   "backend " + run.plugin().id() + (entry.undo ? ": what it had written is removed" : " has retired"));
  }
  // What both own may have suffered.
  if (entry.undo) {
    for (const auto& of : serving()->families())
      of->loop->request_full("backend " + run.plugin().id() + " was taken back");
  }
}

void Backends::left(const BackendRun& run, const std::vector<ownership::ClaimState>& states) {
  for (const ownership::ClaimState state : states) forget(run, state);
  for (const auto& of : run.families()) served(of->family)->gone(run.id());
}

void Backends::find_absent(const config::Settings& settings, const std::vector<base::Family>& families) {
  cleanup::StartupCleanup::Options options;
  options.drain = std::chrono::duration_cast<std::chrono::milliseconds>(settings.drain_timeout);
  options.removed = [this](const cleanup::Absent& gone) {
    const auto retiring = retirement_.list();
    const bool again = std::any_of(retiring.begin(), retiring.end(), [&](const Retirement::Entry& entry) {
      return entry.run->plugin().id() == gone.backend;
    });
    for (const ownership::ClaimState state : gone.states) {
      // By now the entry is about one that drains here.
      if (state == ownership::ClaimState::retiring && again) continue;
      if (const auto status = around_.state_dir.forget(gone.backend, gone.family, state); !status.ok()) {
        base::log_warning("app", status.message());
      }
    }
  };
  startup_cleanup_ = std::make_unique<cleanup::StartupCleanup>(settings.backend, std::move(options));
  cleanup::AbsentInput input;
  input.ledger = around_.state_dir.claims();
  input.own = settings.backend;
  const plugin::Folders folders(settings.plugins.folders.begin(), settings.plugins.folders.end());
  for (const std::string& id : plugin::available_plugins(folders)) input.installed.push_back(id);
  input.families = families;
  input.ipvs_stands = cleanup::ipvs_stands();
  input.drain = std::chrono::duration_cast<std::chrono::seconds>(settings.drain_timeout);
  input.now = std::chrono::system_clock::now();
  absent_ = cleanup::find_absent(input);
  startup_cleanup_->absent(absent_);
}

// On a thread of its own: what takes a moment must not hold up an apply thread.
void Backends::adopt_absent() {
  std::map<std::string, std::vector<cleanup::Absent>> by_backend;
  for (cleanup::Absent& absent : absent_) {
    if (absent.by == cleanup::Absent::By::plugin) by_backend[absent.backend].push_back(std::move(absent));
  }
  for (const auto& [backend, found] : by_backend) {
    if (!stopping_) adopt(backend, found);
  }
  drop_descriptors();
}

// Nobody will ask for those of others any more.
void Backends::drop_descriptors() {
  const auto pause = retirement_.pause();  // nor is there a swap, in which somebody is in neither list
  std::vector<std::string> in_use{serving()->plugin().id()};
  for (const auto& entry : retirement_.list()) in_use.push_back(entry.run->plugin().id());
  around_.descriptors.drop_unused(in_use);
}

// What an earlier process left is retired by a backend that has never served here.
void Backends::adopt(const std::string& backend, const std::vector<cleanup::Absent>& found) {
  const auto failed = [&](const base::Status& status) {
    base::log_error("swap", "what backend " + backend + " left on this node stays for now: " + status.message() +
                                "; the next start tries again, and sluiced --cleanup does it at once");
  };
  auto loaded = load(at_start_.plugins, backend);
  if (!loaded) return failed(loaded.status());
  const auto folder = around_.state_dir.backend_folder(backend);
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
  for (const cleanup::Absent& absent : found) {
    run.families.push_back(absent.family);
    drain = std::max(drain, absent.drain);
    states.insert(states.end(), absent.states.begin(), absent.states.end());
  }
  auto made = std::make_shared<BackendRun>(std::move(run), callbacks(), &around_.metrics.of_plugins(), around_.clock);
  for (const auto& status : made->start(kAdoptPatience)) {
    if (status.ok()) continue;
    failed(status);
    // It cannot be let go of before it answers.
    if (made->busy()) {
      const std::lock_guard lock(mutex_);
      adopted_[made->id()] = {};
      retirement_.add({.run = made, .until = around_.clock.now()});
    }
    return;
  }
  base::log_info("swap", "backend " + backend +
                             " served here before; what it left is retired, and its connections live on " + "for " +
                             std::to_string(drain.count()) + " s at most");
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    adopted_[made->id()] = states;
  }
  for (const auto& of : made->families()) {
    served(of->family)->inherit(made->id(), made->plugin().has(abi::kFeatureOwnConnections));
  }
  retirement_.add({.run = std::move(made), .until = around_.clock.now() + drain});
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
