// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/drains.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <utility>
#include <vector>

namespace sluice::ipvs {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

bool drains(const HeldServer* held, const RealServer& real) {
  if (held == nullptr) return false;
  const DeviatingServer* const deviating = held->find_deviating(real);
  return deviating != nullptr && deviating->weight == 0;
}

}  // namespace

Drains::Drains(Options options, sdk::Logger log)
    : options_(std::move(options)), file_(options_.folder, options_.family, log) {}

void Drains::refreshed(const ServerCache& cache) {
  load();
  const std::map<ServerKey, DrainList::OfServer> before = list_.all();
  for (const auto& [key, reals] : before) {
    const HeldServer* const held = cache.find(key);
    for (const auto& [real, deadline] : reals) {
      if (!drains(held, real)) list_.remove(key, real);
    }
  }
  for (auto server = saved_.begin(); server != saved_.end();) {
    const HeldServer* const held = cache.find(server->first);
    const auto is_over = [held](const auto& drain) { return !drains(held, drain.first); };
    if (std::erase_if(server->second, is_over) != 0) saved_shrank_ = true;
    server = server->second.empty() ? saved_.erase(server) : std::next(server);
  }
  save();
}

void Drains::begin(const ServerKey& key, const RealServer& real) {
  DrainList::Deadline deadline = DrainList::kNever;
  if (options_.limited) {
    deadline = options_.now() + static_cast<std::uint64_t>(options_.most.count()) * kSecond;
    if (const auto server = saved_.find(key); server != saved_.end()) {
      if (const auto saved = server->second.find(real); saved != server->second.end()) deadline = saved->second;
    }
  }
  list_.add(key, real, deadline);
}

void Drains::begin_found(const ServerKey& key, const HeldServer& held, const RealServers& wanted) {
  for (const DeviatingServer& deviating : held.deviating) {
    if (deviating.weight != 0 || (wanted && std::binary_search(wanted->begin(), wanted->end(), deviating.server)))
      continue;
    begin(key, deviating.server);
  }
  if (saved_.erase(key) != 0) saved_shrank_ = true;
}

void Drains::end(const ServerKey& key) {
  list_.remove(key);
  if (saved_.erase(key) != 0) saved_shrank_ = true;
}

void Drains::end_others(const ServerKey& key, const HeldServer& held) {
  const DrainList::OfServer* const found = list_.of(key);
  if (found == nullptr) return;
  for (const auto& [real, deadline] : DrainList::OfServer(*found)) {
    if (!drains(&held, real)) list_.remove(key, real);
  }
}

Drains::SaveGuard::~SaveGuard() {
  try {
    drains_.save();
  } catch (const std::bad_alloc&) {
    // The file stays unchanged; real servers it lacks start over after a restart.
  }
}

void Drains::load() {
  if (std::exchange(loaded_, true)) return;
  const std::vector<SavedDrain> saved = file_.load();
  if (!options_.limited) {
    // Deadlines of other settings must not come back when those settings do.
    if (!saved.empty()) file_.save({});
    return;
  }
  const std::uint64_t monotonic = options_.now();
  const std::int64_t wall = options_.wall_clock();
  for (const SavedDrain& drain : saved) {
    // The clock may have been set meanwhile: never longer than a new drain.
    const std::int64_t left = std::clamp<std::int64_t>(drain.deadline - wall, 0, options_.most.count());
    saved_[drain.server].emplace(drain.real, monotonic + static_cast<std::uint64_t>(left) * kSecond);
  }
}

void Drains::save() {
  const bool shrank = std::exchange(saved_shrank_, false);
  if (!list_.take_changed() && !shrank) return;
  const std::uint64_t monotonic = options_.now();
  const std::int64_t wall = options_.wall_clock();
  std::vector<SavedDrain> lines;
  const auto append = [&](const std::map<ServerKey, DrainList::OfServer>& all) {
    for (const auto& [key, reals] : all) {
      for (const auto& [real, deadline] : reals) {
        if (deadline == DrainList::kNever) continue;
        const std::uint64_t left = deadline > monotonic ? deadline - monotonic : 0;
        lines.push_back({key, real, wall + static_cast<std::int64_t>((left + kSecond - 1) / kSecond)});
      }
    }
  };
  append(list_.all());
  append(saved_);
  file_.save(lines);
}

}  // namespace sluice::ipvs
