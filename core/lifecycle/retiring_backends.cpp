// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/retiring_backends.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/lifecycle/run_records.hpp"

namespace sluice::lifecycle {

RetiringBackends::RetiringBackends(StateDir& state_dir, ActiveBackend& active, const lib::Clock& clock)
    : state_dir_(state_dir), active_(active), clock_(clock), retirement_({}, *this, clock) {}

RetiringBackends::~RetiringBackends() { stop(); }

void RetiringBackends::start(const Claims& claims) {
  retirement_.set_successor(claims);
  retirement_.start();
}

void RetiringBackends::stop() { retirement_.stop(); }

bool RetiringBackends::is_retiring(const std::string& plugin_id) const {
  const auto retiring = list();
  return std::any_of(retiring.begin(), retiring.end(),
                     [&](const Retirement::Entry& entry) { return entry.run->plugin().id() == plugin_id; });
}

void RetiringBackends::retire_leftover(std::shared_ptr<BackendRun> run,
                                       const std::vector<ownership::ClaimState>& states, lib::Clock::Duration drain) {
  {
    const lib::Lock lock(mutex_);
    leftover_states_[run->id()] = states;
  }
  retirement_.add({.run = std::move(run), .until = clock_.now() + drain});
}

void RetiringBackends::forget(const BackendRun& run, const std::vector<ownership::ClaimState>& states) {
  for (const ownership::ClaimState state : states) forget_run(state_dir_, run, state);
  active_.gone(run);
}

void RetiringBackends::ending(const Retirement::Entry& entry) { active_.ending(*entry.run); }

bool RetiringBackends::settled(const Retirement::Entry& entry) { return active_.settled(*entry.run); }

void RetiringBackends::gone(const Retirement::Entry& entry, bool clean) {
  const BackendRun& run = *entry.run;
  // Two runs of the same backend may retire, after two swaps of its plugin file.
  const auto retiring = list();
  const bool last = std::none_of(retiring.begin(), retiring.end(), [&](const Retirement::Entry& other) {
    return other.run != entry.run && other.undo == entry.undo && other.run->plugin().id() == run.plugin().id();
  });
  std::vector<ownership::ClaimState> states;
  {
    const lib::Lock lock(mutex_);
    const auto leftover = leftover_states_.find(run.id());
    if (leftover != leftover_states_.end()) {
      if (clean) states = leftover->second;
      leftover_states_.erase(leftover);
    } else if (clean && last) {
      states = {entry.undo ? ownership::ClaimState::arriving : ownership::ClaimState::retiring};
    }
  }
  forget(run, states);
  if (clean) {
    base::log(base::message::kRetired,
              "backend " + run.plugin().id() + (entry.undo ? ": removed its kernel state" : " has retired"),
              {{"backend", run.plugin().id()}});
  }
  // The active backend may share artifacts with the removed one.
  if (entry.undo) {
    for (const auto& of : active_.active_run()->families())
      of->loop->request_full("backend " + run.plugin().id() + " was rolled back");
  }
}

}  // namespace sluice::lifecycle
