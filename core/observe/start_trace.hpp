// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How long the start of the daemon took, by phase: from main() until every address family has synced for the first time.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model/event.hpp"
#include "lib/clock.hpp"
#include "lib/ip.hpp"
#include "lib/mutex.hpp"

namespace sluice::observe {

struct StartPhase {
  std::string_view name;  // of the log line and of the metric
  double seconds = 0;
};

// The backend is loaded and probed while the objects are listed, and each list begins with the connection. Therefore
//
//   whole = configuration + preparation + max(backend_load + backend_probe, connection + longest list)
//           + store + first_apply
struct StartReport {
  std::vector<StartPhase> phases;  // in the order of names()
  double whole_seconds = 0;
};

// Receives the instants, in any order that the threads produce them, and reports once. Any thread.
class StartTrace {
 public:
  // `report` is called on the thread of the last call of applied(). The clock must outlive it.
  StartTrace(const lib::Clock& clock, lib::Clock::Time begun, std::function<void(const StartReport&)> report);

  // The settings are valid, and the parts of the daemon start.
  void configured() { note(&Instants::configured); }
  // The state directory, the addresses of the node and the kernel settings are ready. Source and backend start.
  void prepared() { note(&Instants::prepared); }
  // The plugin is loaded.
  void backend_loaded() { note(&Instants::loaded); }
  // The backend is probed in these families, and its claims are recorded. Before the backend subscribes.
  void backend_ready(std::vector<lib::Family> families);
  // The source begins a list: the first bytes from the API server. Only the first call counts.
  void answered() { note(&Instants::answered); }
  // The source has the complete list. Only the first call of each kind counts.
  void listed(model::ResourceKind kind);
  // A backend begins to apply a transaction. Only the last call before applied() counts.
  void taken(lib::Family family);
  // A transaction is in the kernel. Only the first call of each family counts.
  void applied(lib::Family family);

 private:
  using Time = std::optional<lib::Clock::Time>;
  struct Instants {
    Time configured, prepared, loaded, ready, answered;
    std::array<Time, model::kResourceKinds.size()> listed;  // by ResourceKind
    std::array<Time, 2> taken, applied;                     // by family_index
  };

  void note(Time Instants::*instant);
  StartReport report() const SLUICE_REQUIRES(mutex_);

  const lib::Clock& clock_;
  const lib::Clock::Time begun_;
  const std::function<void(const StartReport&)> report_;

  lib::Mutex mutex_;
  Instants at_ SLUICE_GUARDED_BY(mutex_);
  std::vector<lib::Family> families_ SLUICE_GUARDED_BY(mutex_);
  bool reported_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::observe
