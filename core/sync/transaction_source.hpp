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
  // [apply thread] A delta defers changes in `deferred` namespaces to the next one. Returns null when there is nothing to
  // take: the loop is stopping, not everything is listed, or a plugin requests a full sync before there is a subscription.
  virtual std::shared_ptr<const snapshot::Transaction> take(bool full, const model::Namespaces& deferred) = 0;
};

}  // namespace sluice::sync
