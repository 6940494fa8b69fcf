// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The namespaces that have a part in the current run, or had one in a run that ended within two minimum intervals. With
// one interval, a namespace that changes all the time would be missing if a run begins late. A namespace that had no
// part may request an early run, so that changes in other namespaces do not delay its own. Any thread; every call is
// short.
#pragma once

#include <mutex>
#include <unordered_map>

#include "core/base/clock.hpp"
#include "core/base/symbol.hpp"
#include "core/snapshot/transaction.hpp"

namespace sluice::sync {

class RecentNamespaces {
 public:
  explicit RecentNamespaces(base::Clock::Duration minimum) : span_(2 * minimum) {}

  void set_minimum(base::Clock::Duration minimum);
  // A run with this transaction begins, or has ended. What ended earlier than the span is forgotten.
  void note(const snapshot::Transaction& transaction, base::Clock::Time now);
  // Whether one of them had no part.
  bool lacks_one_of(const model::Namespaces& namespaces, base::Clock::Time now) const;
  // Those that had a part.
  model::Namespaces names(base::Clock::Time now) const;
  std::size_t size() const;  // what is kept

 private:
  mutable std::mutex mutex_;
  base::Clock::Duration span_;
  std::unordered_map<base::Symbol, base::Clock::Time> ended_;  // the last run with the namespace
};

}  // namespace sluice::sync
