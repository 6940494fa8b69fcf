// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Where a sync loop takes its transactions from.
#pragma once

#include <memory>

#include "core/snapshot/transaction.hpp"

namespace sluice::sync {

class TransactionSource {
 public:
  virtual ~TransactionSource() = default;
  // [apply thread] A delta defers changes in `deferred` namespaces to the next one. Null: nothing can be taken now. Also
  // called before a plugin's first transaction exists, because the plugin may request a full sync.
  virtual std::shared_ptr<const snapshot::Transaction> take(bool full, const model::Namespaces& deferred) = 0;
};

}  // namespace sluice::sync
