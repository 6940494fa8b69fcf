// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/backend_run.hpp"

#include <algorithm>
#include <future>
#include <string_view>
#include <utility>

#include "core/lifecycle/backend_details.hpp"
#include "core/lifecycle/descriptor_keeper.hpp"
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

BackendRun::BackendRun(Settings settings, const Environment& environment)
    : settings_(std::move(settings)), environment_(environment) {}

BackendRun::~BackendRun() { stop(); }

std::shared_ptr<const snapshot::Transaction> BackendRun::PerFamily::take(bool full, const model::Namespaces& deferred) {
  const snapshot::SubscriptionId open = subscription;
  return open == 0 ? nullptr : store.take(open, full, deferred);
}

std::array<lib::Status, 2> BackendRun::start(Timeout timeout) {
  std::array<lib::Status, 2> out;
  std::array<bool, 2> late{};
  const auto until = std::chrono::steady_clock::now() + timeout;
  for (const lib::Family family : settings_.families) {
    auto made = std::make_unique<PerFamily>(family, environment_.store);
    const std::string& backend = settings_.plugin->id();
    made->loop = std::make_unique<sync::SyncLoop>(settings_.loop, sync::LoopId{settings_.id, backend, family}, *made,
                                                  environment_.observer, environment_.clock);
    made->probe = made->loop->start([this, family](plugin::HostObserver& observer) {
      DescriptorKeeper* const keeper = environment_.descriptors;
      return plugin::BackendHandle::create(
          settings_.plugin, settings_.backend[lib::family_index(family)], &observer, environment_.metrics,
          environment_.clock, keeper == nullptr ? nullptr : keeper->descriptors_for(settings_.plugin->id(), family));
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

void BackendRun::subscribe(snapshot::SettingsStage facts) {
  for (const auto& of : families_) {
    sync::SyncLoop* const loop = of->loop.get();
    of->subscription = of->store.subscribe(
        of->family, [loop](const model::Namespaces& changed) { loop->request(changed); }, facts, details_of(plugin()));
    // The store may have notified of existing objects before take() knew the subscription.
    if (of->store.published().synced) loop->request();
  }
}

void BackendRun::unsubscribe() {
  for (const auto& of : families_) {
    if (const snapshot::SubscriptionId open = of->subscription.exchange(0); open != 0) of->store.unsubscribe(open);
  }
}

void BackendRun::cancel() {
  for (const auto& of : families_) of->loop->cancel();
}

void BackendRun::stop() {
  cancel();
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
  const auto now = environment_.clock.now();
  for (const auto& of : families_) {
    if (const auto since = of->loop->freshness().pending_since) out = std::max(out, now - *since);
  }
  return out;
}

}  // namespace sluice::lifecycle
