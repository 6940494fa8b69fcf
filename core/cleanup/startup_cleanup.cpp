// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/startup_cleanup.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/base/memory.hpp"
#include "core/cleanup/ipvs_connections.hpp"
#include "core/cleanup/leftovers.hpp"
#include "lib/text.hpp"
#include "names/claims.hpp"

namespace sluice::cleanup {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int kTries = 2;

Modes modes_except(Modes own) { return own == 0 ? 0 : kAllModes & ~own; }

bool has_servers(const LeftoverBackend& backend) { return lib::contains(backend.artifacts, names::servers_claim()); }

}  // namespace

StartupCleanup::StartupCleanup(std::string_view backend, Options options)
    : options_(std::move(options)), mode_(mode_of(backend)), selection_(modes_except(mode_), mode_) {}

StartupCleanup::~StartupCleanup() { stop(); }

void StartupCleanup::set_leftover_backends(const std::vector<LeftoverBackend>& found) {
  const lib::Lock lock(mutex_);
  for (const LeftoverBackend& one : found) {
    if (one.by == LeftoverBackend::By::plugin) {
      for (const std::string& artifact : one.artifacts) selection_.keep(one.family, artifact);
      continue;
    }
    bool all = true;
    for (const std::string& artifact : one.artifacts) {
      if (selection_.add(one.family, artifact)) continue;
      base::log(base::message::kLeftoverNeedsPlugin,
                "backend " + one.backend + " has left " + artifact + " (" + std::string(lib::family_name(one.family)) +
                    "), which only its plugin can remove: install it again and restart the daemon",
                {{"backend", one.backend}, {"family", lib::family_name(one.family)}, {"name", artifact}});
      all = false;
    }
    by_remover_.push_back({one, all});
  }
}

void StartupCleanup::expect(const std::vector<lib::Family>& families) {
  const lib::Lock lock(mutex_);
  if (mode_ != 0 || !by_remover_.empty()) awaited_.insert(families.begin(), families.end());
}

void StartupCleanup::family_synced(lib::Family family, const std::vector<std::string>& claims) {
  const lib::Lock lock(mutex_);
  if (stopping_ || awaited_.erase(family) == 0) return;
  for (const std::string& claim : claims) selection_.keep(family, claim);
  if (awaited_.empty()) worker_ = std::thread([this] { work(); });
}

void StartupCleanup::keep(lib::Family family, const std::vector<std::string>& artifacts) {
  lib::UniqueLock lock(mutex_);
  for (const std::string& artifact : artifacts) selection_.keep(family, artifact);
  ++keepers_;
  while (removing_) wake_.wait(mutex_);
  --keepers_;
  lock.unlock();
  wake_.notify_all();
}

void StartupCleanup::stop() {
  {
    const lib::Lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (worker_.joinable()) worker_.join();
}

bool StartupCleanup::interrupted() {
  const lib::Lock lock(mutex_);
  return stopping_ || keepers_ != 0;
}

bool StartupCleanup::sleep(std::chrono::milliseconds time) {
  const auto until = Steady::now() + time;
  const lib::Lock lock(mutex_);
  while (!stopping_ && wake_.wait_until(mutex_, until)) {
  }
  return !stopping_;
}

void StartupCleanup::work() {
  if (wait_for_connections()) remove_all();
  base::release_free_memory();  // of the listing of all rules
}

// False when stopped.
bool StartupCleanup::wait_for_connections() {
  const auto count = [this]() -> std::size_t {
    {
      const lib::Lock lock(mutex_);
      if (!selection_.virtual_servers()) return 0;
    }
    return options_.connections ? options_.connections() : ipvs_connections();
  };
  const std::chrono::milliseconds drain = servers_drain();
  const auto until = Steady::now() + drain;
  const std::size_t connections = drain.count() == 0 ? 0 : count();
  if (connections == 0) return true;
  if (!remove(/*virtual_servers=*/false)) return false;
  base::log(base::message::kLeftoverServersDraining,
            "keeping the IPVS virtual servers left by ipvs mode until their " + std::to_string(connections) +
                " connections end, for at most " +
                std::to_string(std::chrono::ceil<std::chrono::seconds>(drain).count()) + " s",
            {{"count", connections}});
  while (count() != 0 && Steady::now() < until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now());
    if (!sleep(std::min(options_.check_interval, left))) return false;
  }
  return true;
}

std::chrono::milliseconds StartupCleanup::servers_drain() const {
  std::chrono::milliseconds longest{-1};
  for (const Gone& one : by_remover_) {
    if (has_servers(one.backend)) longest = std::max<std::chrono::milliseconds>(longest, one.backend.drain);
  }
  return longest.count() < 0 ? options_.drain : longest;
}

void StartupCleanup::remove_all() {
  for (int attempt = 1;; ++attempt) {
    const auto removed = remove(/*virtual_servers=*/true);
    if (!removed) return;
    if (removed->failures.empty()) break;
    if (attempt == kTries) {
      for (const auto& sentence : removed->failures)
        base::log(base::message::kLeftoverNotRemoved, "leftover state of another mode: " + sentence,
                  {{"error", sentence}});
      return;
    }
    if (!sleep(options_.retry_after)) return;
  }
  for (const Gone& one : by_remover_) {
    if (one.completely && options_.removed) options_.removed(one.backend);
  }
}

// std::nullopt if stopped.
std::optional<Removal> StartupCleanup::remove(bool virtual_servers) {
  const auto remover = options_.remove ? options_.remove : Remove(&remove_leftovers);
  lib::UniqueLock lock(mutex_);
  for (;;) {
    while (!stopping_ && keepers_ != 0) wake_.wait(mutex_);
    if (stopping_) return std::nullopt;
    const Selection selection = virtual_servers ? selection_ : selection_.without_virtual_servers();
    removing_ = true;
    lock.unlock();
    const Removal removed = remover(selection, [this] { return interrupted(); });
    log_result(removed);
    lock.lock();
    removing_ = false;
    wake_.notify_all();
    if (stopping_) return std::nullopt;
    if (keepers_ == 0) return removed;
    // Interrupted by keep(): start again without the kept artifacts.
  }
}

void StartupCleanup::log_result(const Removal& removed) const {
  for (const auto& sentence : removed.notes) {
    base::log(base::message::kLeftoverChainInUse, sentence, {{"error", sentence}});
  }
  if (removed.nothing()) {
    base::log(base::message::kLeftoverNone, "no leftover state of other modes");
    return;
  }
  const Modes whose = removed.modes & ~mode_;
  const std::string owner = whose == 0 ? std::string("another backend") : mode_names(whose) + (std::has_single_bit(whose) ? " mode" : " modes");
  base::log(base::message::kLeftoverRemoved, "removed leftover state of " + owner + ": " + removed.to_string(),
            {{"name", owner}});
}

}  // namespace sluice::cleanup
