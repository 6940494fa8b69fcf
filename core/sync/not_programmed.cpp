// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/not_programmed.hpp"

#include <algorithm>

namespace sluice::sync {
namespace {

plugin::ServicePortName name_of(const store::ServicePortKey& key) {
  return {std::string(key.service.name_space.text()), key.service.name, std::string(key.port_name.text()),
          static_cast<abi::Protocol>(key.protocol)};
}

}  // namespace

void add_withheld(const snapshot::Transaction& transaction, plugin::ServicePortReports& reports) {
  std::map<plugin::ServicePortName, const std::string*> withheld;
  for (const auto& port : transaction.service_ports) {
    if (!port->withheld.empty()) withheld.emplace(name_of(port->key), &port->withheld);
  }
  if (withheld.empty()) return;
  for (auto& failed : reports.failed) {
    const auto found = withheld.find(failed.port);
    if (found == withheld.end()) continue;
    failed.message += "; " + *found->second;
    withheld.erase(found);
  }
  for (const auto& [name, reason] : withheld) reports.failed.push_back({name, *reason, 0, true});
  std::sort(reports.failed.begin(), reports.failed.end(), [](const auto& a, const auto& b) { return a.port < b.port; });
}

void NotProgrammed::note(const snapshot::Transaction& transaction, const plugin::ServicePortReports& reports,
                   lib::Clock::Time now) {
  if (reasons_.empty() && reports.failed.empty()) return;
  const std::size_t before = reasons_.size() - withheld_.size();
  const bool has_new = std::any_of(reports.failed.begin(), reports.failed.end(), [&](const auto& one) {
    return !one.withheld && (!reasons_.contains(one.port) || withheld_.contains(one.port));
  });
  const auto erase = [this](const plugin::ServicePortName& name) {
    reasons_.erase(name);
    withheld_.erase(name);
  };
  if (transaction.full) {
    reasons_.clear();
    withheld_.clear();
  } else if (!reasons_.empty()) {
    for (const auto& port : transaction.service_ports) erase(name_of(port->key));
    for (const auto& key : transaction.removed) erase(name_of(key));
  }
  for (const auto& one : reports.served) {
    if (!withheld_.contains(one)) erase(one);
  }
  for (const auto& one : reports.failed) {
    reasons_[one.port] = one.message;
    if (one.withheld) withheld_.insert(one.port);
  }
  // An unrelated delta must not delay the retry.
  const std::size_t after = reasons_.size() - withheld_.size();
  if (transaction.full || has_new || after != before) clock_.set(after != 0, has_new, now);
}

}  // namespace sluice::sync
