// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/left_out.hpp"

#include <algorithm>
#include <utility>

#include "sluice/sdk/error.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::netfilter {

void add_problem(Problems& problems, const std::string& name, const std::string& why) {
  std::string& all = problems[name];
  all.append(all.empty() ? "" : "; ").append(why);
}

void LeftOut::note(const abi::Transaction& transaction, const Problems& problems) {
  for (const auto& [name, why] : problems) {
    abi::Error reason = sdk::empty_error();
    sdk::set_error(&reason, name, why);
    host_.object_failed(sdk::view(name), &reason);
  }
  const bool full = transaction.kind == abi::TransactionKind::kFull;
  std::set<std::string> now;
  if (!full) {
    now = names_;
    for (const auto& key : sdk::range<abi::ServicePortKey>(transaction.removed)) now.erase(sdk::service_port_name(key));
    for (const auto& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
      now.erase(sdk::service_port_name(port.key));
    }
  }
  for (const auto& [name, why] : problems) now.insert(name);
  const bool others = !std::includes(names_.begin(), names_.end(), now.begin(), now.end());
  if (full || others || now.size() != names_.size()) clock_.set(!now.empty(), others, host_.now());
  names_ = std::move(now);
}

void LeftOut::gained(const std::string& name, const std::string& what) {
  if (names_.contains(name)) host_.request_resync(sdk::view(name + " has got " + what));
}

void LeftOut::retry_when_due() {
  if (!clock_.due(host_.now())) return;
  host_.request_resync(
      sdk::view("service ports that could not be served are tried again: " + std::to_string(names_.size())));
}

}  // namespace sluice::netfilter
