// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/left_out.hpp"

#include <algorithm>

namespace sluice::sync {
namespace {

plugin::ServicePortName name_of(const store::ServicePortKey& key) {
  return {std::string(key.service.name_space.text()), key.service.name, std::string(key.port_name.text()),
          static_cast<abi::Protocol>(key.protocol)};
}

}  // namespace

void LeftOut::note(const snapshot::Transaction& transaction, const plugin::ServicePortReports& reports,
                   base::Clock::Time now) {
  if (reasons_.empty() && reports.failed.empty()) return;
  const auto before = reasons_;
  if (transaction.full) {
    reasons_.clear();
  } else if (!reasons_.empty()) {
    for (const auto& port : transaction.service_ports) reasons_.erase(name_of(port->key));
    for (const auto& key : transaction.removed) reasons_.erase(name_of(key));
  }
  for (const auto& one : reports.served) reasons_.erase(one);
  for (const auto& one : reports.failed) reasons_[one.port] = one.message;
  const bool others =
      std::any_of(reasons_.begin(), reasons_.end(), [&](const auto& one) { return !before.contains(one.first); });
  // What concerns none of them does not put it off.
  if (transaction.full || others || reasons_.size() != before.size()) clock_.set(!reasons_.empty(), others, now);
}

}  // namespace sluice::sync
