// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/backend_run.hpp"

#include <algorithm>
#include <future>
#include <string_view>
#include <utility>

#include "sluice/sdk/claims.hpp"

namespace sluice::lifecycle {
namespace {

constexpr std::chrono::milliseconds kSlice{5};

constexpr const char* kTimeoutMessage = "timeout: no answer";

// Nothing when the loop has ended without an answer.
template <class T>
std::optional<T> value_of(std::future<T>& future) {
  try {
    if constexpr (std::is_void_v<T>) {
      future.get();
    } else {
      return future.get();
    }
  } catch (const std::future_error&) {  // the loop has ended
  }
  return std::nullopt;
}

}  // namespace

bool overlap(const Claims& one, const Claims& other) {
  for (std::size_t family = 0; family < one.size(); ++family) {
    for (const std::string& mine : one[family]) {
      for (const std::string& theirs : other[family]) {
        if (sdk::overlap(mine, theirs)) return true;
      }
    }
  }
  return false;
}

namespace {

std::string named(const BackendRun& run, lib::Family family) {
  return run.plugin().id() + " (" + std::string(lib::family_name(family)) + ")";
}

lib::Status no_answer(const BackendRun& run, lib::Family family, const char* call) {
  return lib::unavailable("backend " + named(run, family) + ": " + call + ": " + kTimeoutMessage);
}

}  // namespace

BackendRun::BackendRun(Settings settings, Callbacks callbacks, plugin::MetricSink* metrics, const lib::Clock& clock)
    : settings_(std::move(settings)), callbacks_(std::move(callbacks)), metrics_(metrics), clock_(clock) {}

BackendRun::~BackendRun() { stop(); }

sync::SyncLoop::Callbacks BackendRun::loop_callbacks(PerFamily& of) {
  sync::SyncLoop::Callbacks out;
  const RunId id = settings_.id;
  const lib::Family family = of.family;
  // A plugin may request a full sync before there is a store.
  out.take = [this, &of](bool full, const model::Namespaces& deferred) -> std::shared_ptr<const snapshot::Transaction> {
    snapshot::StoreThread* const store = store_;
    const snapshot::SubscriptionId subscription = of.subscription;
    return store == nullptr || subscription == 0 ? nullptr : store->take(subscription, full, deferred);
  };
  out.on_claims = [this, id, family](const std::vector<std::string>& claims) {
    if (callbacks_.claims) callbacks_.claims(id, family, claims);
  };
  out.on_applied = [this, id, family](const snapshot::Transaction& transaction) {
    if (callbacks_.applied) callbacks_.applied(id, family, transaction);
  };
  out.on_synced = [this, id, family](const sync::SyncReport& report) {
    if (callbacks_.synced) callbacks_.synced(id, family, report);
  };
  out.on_not_programmed = [this, id](const plugin::FailedServicePort& failed) {
    if (callbacks_.not_programmed) callbacks_.not_programmed(id, failed);
  };
  out.on_starting = [this, id, family](std::string_view call) {
    if (callbacks_.starting) callbacks_.starting(id, family, call);
  };
  out.on_event = [this](abi::Severity severity, const std::string& reason, const std::string& note,
                        const std::optional<plugin::ServicePortName>& regarding) {
    if (callbacks_.event) callbacks_.event(settings_.plugin->id(), severity, reason, note, regarding);
  };
  return out;
}

std::array<lib::Status, 2> BackendRun::start(Timeout timeout) {
  std::array<lib::Status, 2> out;
  std::array<bool, 2> late{};
  const auto until = std::chrono::steady_clock::now() + timeout;
  for (const lib::Family family : settings_.families) {
    auto made = std::make_unique<PerFamily>();
    made->family = family;
    made->loop = std::make_unique<sync::SyncLoop>(settings_.loop, clock_, loop_callbacks(*made));
    made->probe = made->loop->start([this, family](plugin::HostCallbacks callbacks) {
      callbacks.relays = [this, family](plugin::RelayedPort port) {
        if (callbacks_.relays) callbacks_.relays(settings_.id, family, std::move(port));
      };
      if (callbacks_.descriptors) callbacks.descriptors = callbacks_.descriptors(settings_.plugin->id(), family);
      return plugin::BackendHandle::create(settings_.plugin, settings_.backend[lib::family_index(family)],
                                           std::move(callbacks), metrics_, clock_);
    });
    families_.push_back(std::move(made));
  }
  for (const auto& of : families_) {
    const std::size_t index = lib::family_index(of->family);
    late[index] = of->probe.wait_until(until) == std::future_status::timeout;
    try {
      out[index] = late[index] ? no_answer(*this, of->family, "probe") : of->probe.get();
    } catch (const std::future_error&) {  // the loop has ended
      out[index] = lib::unavailable("the backend was not started");
    }
  }
  std::erase_if(families_, [&](const auto& of) {
    const std::size_t index = lib::family_index(of->family);
    return !out[index].ok() && !late[index];
  });
  return out;
}

void BackendRun::subscribe(snapshot::StoreThread& store, snapshot::SettingsStage facts) {
  store_ = &store;
  for (const auto& of : families_) {
    sync::SyncLoop* const loop = of->loop.get();
    of->subscription = store.subscribe(
        of->family, [loop](const model::Namespaces& changed) { loop->request(changed); }, facts);
    // The store may have notified of existing objects before take() knew the subscription.
    if (store.started()) loop->request();
  }
}

void BackendRun::unsubscribe() {
  snapshot::StoreThread* const store = store_;
  for (const auto& of : families_) {
    if (const snapshot::SubscriptionId subscription = of->subscription.exchange(0); subscription != 0 && store != nullptr)
      store->unsubscribe(subscription);
  }
}

void BackendRun::stop() {
  for (const auto& of : families_) of->loop->stop();
  unsubscribe();
}

bool BackendRun::has(lib::Family family) const {
  return std::any_of(families_.begin(), families_.end(), [&](const auto& of) { return of->family == family; });
}

template <class T, class Ask>
std::vector<std::pair<const BackendRun::PerFamily*, std::optional<T>>> BackendRun::ask(Timeout timeout,
                                                                                       const KeepWaiting& keep_waiting,
                                                                                       Ask&& ask) {
  std::vector<std::pair<const PerFamily*, std::future<T>>> asked;
  for (const auto& of : families_) asked.emplace_back(of.get(), ask(*of));
  const auto until = std::chrono::steady_clock::now() + timeout;
  std::vector<std::pair<const PerFamily*, std::optional<T>>> out;
  for (auto& [of, future] : asked) {
    bool go_on = true;
    while (go_on && future.wait_for(kSlice) == std::future_status::timeout &&
           std::chrono::steady_clock::now() < until) {
      if (keep_waiting) go_on = keep_waiting();
    }
    if (keep_waiting) keep_waiting();
    const bool there = future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    out.emplace_back(of, there ? value_of(future) : std::nullopt);
  }
  return out;
}

lib::Status BackendRun::hold(Timeout timeout, const KeepWaiting& keep_waiting) {
  // SyncLoop::hold() has no result, so an empty call afterwards shows that no backend call is in progress.
  for (const auto& of : families_) of->loop->hold();
  for (const auto& [of, answer] : ask<bool>(timeout, keep_waiting, [](const PerFamily& family) {
         return family.loop->call([](plugin::BackendHandle&) { return true; });
       })) {
    if (!answer) return no_answer(*this, of->family, "hold");
  }
  return {};
}

void BackendRun::resume() {
  for (const auto& of : families_) of->loop->resume();
}

lib::Result<Claims> BackendRun::claims(Timeout timeout) {
  Claims out;
  for (auto& [of, answer] : ask<plugin::ClaimsOutcome>(timeout, {}, [](const PerFamily& family) {
         return family.loop->call([](plugin::BackendHandle& backend) { return backend.claims(); });
       })) {
    if (!answer) return no_answer(*this, of->family, "claims");
    if (!answer->ok()) return answer->status(named(*this, of->family), "claims");
    out[lib::family_index(of->family)] = std::move(answer->claims);
  }
  return out;
}

lib::Status BackendRun::apply_full(Timeout timeout, const KeepWaiting& keep_waiting) {
  for (const auto& [of, answer] :
       ask<lib::Status>(timeout, keep_waiting, [](const PerFamily& family) { return family.loop->apply_full(); })) {
    if (!answer) return no_answer(*this, of->family, "apply");
    if (!answer->ok()) return *answer;
  }
  return {};
}

lib::Status BackendRun::verify(Timeout timeout, const KeepWaiting& keep_waiting) {
  for (const auto& [of, answer] : ask<plugin::Outcome>(timeout, keep_waiting, [](const PerFamily& family) {
         return family.loop->call([](plugin::BackendHandle& backend) { return backend.verify(); });
       })) {
    if (!answer) return no_answer(*this, of->family, "verify");
    if (!answer->ok()) return answer->status(named(*this, of->family), "verify");
  }
  return {};
}

plugin::Outcome BackendRun::retire(const Claims& of_successor, std::chrono::seconds drain, Timeout timeout,
                                   const KeepWaiting& keep_waiting) {
  plugin::Outcome out;
  for (auto& [of, answer] : ask<plugin::Outcome>(timeout, keep_waiting, [&](const PerFamily& family) {
         return family.loop->call([claims = of_successor[lib::family_index(family.family)],
                                   drain](plugin::BackendHandle& backend) { return backend.retire(claims, drain); });
       })) {
    if (!answer) {
      plugin::Outcome late;
      late.code = abi::Code::kInternal;
      late.object = "(" + std::string(lib::family_name(of->family)) + ")";
      late.message = kTimeoutMessage;
      return late;
    }
    // A failure takes precedence over a family that still drains.
    if (!answer->ok() && (out.ok() || out.code == abi::Code::kRetry)) out = std::move(*answer);
  }
  return out;
}

lib::Result<BoundClients> BackendRun::export_clients(Timeout timeout) {
  BoundClients out;
  for (auto& [of, answer] : ask<plugin::BoundClientsOutcome>(timeout, {}, [](const PerFamily& family) {
         return family.loop->call([](plugin::BackendHandle& backend) { return backend.export_clients(); });
       })) {
    if (!answer) return no_answer(*this, of->family, "export of clients");
    if (!answer->ok()) return answer->status(named(*this, of->family), "export of clients");
    out[lib::family_index(of->family)] = std::move(answer->clients);
  }
  return out;
}

lib::Status BackendRun::import_clients(const BoundClients& clients, Timeout timeout) {
  for (auto& [of, answer] : ask<plugin::Outcome>(timeout, {}, [&](const PerFamily& family) {
         return family.loop->call([some = clients[lib::family_index(family.family)]](plugin::BackendHandle& backend) {
           return backend.import_clients(some);
         });
       })) {
    if (!answer) return no_answer(*this, of->family, "import of clients");
    if (!answer->ok()) return answer->status(named(*this, of->family), "import of clients");
  }
  return {};
}

void BackendRun::set_intervals(const sync::SyncLoop::Options& options) {
  for (const auto& of : families_) of->loop->set_intervals(options.intervals, options.verify_every);
}

bool BackendRun::busy() const {
  return std::any_of(families_.begin(), families_.end(), [](const auto& of) {
    return of->probe.wait_for(std::chrono::seconds(0)) != std::future_status::ready || !of->loop->in_progress().empty();
  });
}

bool BackendRun::synced() const {
  return std::all_of(families_.begin(), families_.end(), [](const auto& of) { return of->loop->status().synced; });
}

lib::Clock::Duration BackendRun::pending_for() const {
  lib::Clock::Duration out{0};
  const auto now = clock_.now();
  for (const auto& of : families_) {
    if (const auto since = of->loop->freshness().pending_since) out = std::max(out, now - *since);
  }
  return out;
}

}  // namespace sluice::lifecycle
