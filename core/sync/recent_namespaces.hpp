// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The namespaces with changes in the current run, or in a run that ended within two minimum intervals. With one
// interval, a namespace that changes all the time would be missing if a run begins late. Any other namespace may
// request an early run, so that the changes of busy namespaces do not delay its own. Any thread; no call blocks for
// long.
#pragma once

#include <unordered_map>

#include "core/base/symbol.hpp"
#include "core/snapshot/transaction.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::sync {

class RecentNamespaces {
 public:
  explicit RecentNamespaces(lib::Clock::Duration minimum) : span_(2 * minimum) {}

  void set_minimum(lib::Clock::Duration minimum);
  // Call when a run with this transaction begins, and again when it has ended. Removes expired namespaces.
  void note(const snapshot::Transaction& transaction, lib::Clock::Time now);
  // Whether any of these namespaces is not recent.
  bool lacks_any(const model::Namespaces& namespaces, lib::Clock::Time now) const;
  // The recent namespaces.
  model::Namespaces names(lib::Clock::Time now) const;
  std::size_t size() const;  // including expired ones

 private:
  mutable lib::Mutex mutex_;
  lib::Clock::Duration span_ SLUICE_GUARDED_BY(mutex_);
  std::unordered_map<base::Symbol, lib::Clock::Time> ended_
      SLUICE_GUARDED_BY(mutex_);  // the end of the last run with the namespace
};

}  // namespace sluice::sync
