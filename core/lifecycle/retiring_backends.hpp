// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The retiring backends: old backends of swaps, rolled back ones, and those that remove leftover state. Handles the
// events of their retirement: the ownership ledger and the flows that they serve.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/lifecycle/active_backend.hpp"
#include "core/lifecycle/retirement.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::lifecycle {

class RetiringBackends final : private Retirement::Observer {
 public:
  // All must outlive it.
  RetiringBackends(StateDir& state_dir, ActiveBackend& active, const lib::Clock& clock);
  ~RetiringBackends() override;  // stops
  RetiringBackends(const RetiringBackends&) = delete;
  RetiringBackends& operator=(const RetiringBackends&) = delete;

  // `claims` of the active backend, which no retiring backend may remove.
  void start(const Claims& claims);
  // Releases the backends; their kernel state stays for the next process.
  void stop();

  Retirement& retirement() { return retirement_; }
  std::vector<Retirement::Entry> list() const { return retirement_.list(); }  // any thread
  // [any thread] Whether a run of this plugin is retiring in any family, including rolled back runs and those for
  // leftover state.
  bool is_retiring(const std::string& plugin_id) const;

  // [any thread] Retires leftover state with a run that never serves. When the run has removed its kernel state, its
  // entries in these states are deleted from the ownership ledger.
  void retire_leftover(std::shared_ptr<BackendRun> run, const std::vector<ownership::ClaimState>& states,
                       lib::Clock::Duration drain);
  // [any thread] Deletes the entries of the run in these states from the ownership ledger, and reports that the run
  // serves no flows any more.
  void forget(const BackendRun& run, const std::vector<ownership::ClaimState>& states);

 private:
  // Retirement::Observer
  void ending(const Retirement::Entry& entry) override;
  bool settled(const Retirement::Entry& entry) override;
  void gone(const Retirement::Entry& entry, bool clean) override;

  StateDir& state_dir_;
  ActiveBackend& active_;
  const lib::Clock& clock_;
  lib::Mutex mutex_;
  // The states of retire_leftover().
  std::map<RunId, std::vector<ownership::ClaimState>> leftover_states_ SLUICE_GUARDED_BY(mutex_);
  Retirement retirement_;
};

}  // namespace sluice::lifecycle
