// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/left_out.hpp"

namespace sluice::sync {

void LeftOut::note(const snapshot::Transaction& transaction, const std::vector<plugin::FailedObject>& failed) {
  if (transaction.full) {
    reasons_.clear();
  } else if (!reasons_.empty()) {
    for (const auto& port : transaction.service_ports) reasons_.erase(port->key.to_string());
    for (const auto& key : transaction.removed) reasons_.erase(key.to_string());
  }
  for (const auto& one : failed) reasons_[one.object] = one.message;
}

}  // namespace sluice::sync
