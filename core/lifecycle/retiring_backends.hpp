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
  // [any thread] Whether a run of this backend retires.
  bool retires(const std::string& backend) const;

  // [any thread] Retires leftover state with a run that never serves. Entries in these states of the ownership ledger
  // end with it.
  void adopt(std::shared_ptr<BackendRun> adopted, const std::vector<ownership::ClaimState>& states,
             lib::Clock::Duration drain);
  // [any thread] The run has removed its kernel state.
  void forget(const BackendRun& removed, const std::vector<ownership::ClaimState>& states);

 private:
  // Retirement::Observer
  void ending(const Retirement::Entry& entry) override;
  bool settled(const Retirement::Entry& entry) override;
  void gone(const Retirement::Entry& entry, bool clean) override;

  StateDir& state_dir_;
  ActiveBackend& active_;
  const lib::Clock& clock_;
  lib::Mutex mutex_;
  // States of adopted runs in the ownership ledger.
  std::map<RunId, std::vector<ownership::ClaimState>> adopted_ SLUICE_GUARDED_BY(mutex_);
  Retirement retirement_;
};

}  // namespace sluice::lifecycle
