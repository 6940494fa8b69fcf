// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/not_programmed.hpp"

#include <utility>

#include "sluice/sdk/error.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::netfilter {

void add_problem(Problems& problems, const std::string& name, const std::string& why) {
  std::string& all = problems[name];
  all.append(all.empty() ? "" : "; ").append(why);
}

std::optional<abi::ServicePortKey> NamedKeys::find(const std::string& name) {
  if (!std::exchange(indexed_, true)) {
    for (const auto& port : sdk::range<abi::ServicePort>(transaction_.service_ports)) {
      keys_.emplace(sdk::service_port_name(port.key), port.key);
    }
  }
  const auto found = keys_.find(name);
  if (found == keys_.end()) return std::nullopt;
  return found->second;
}

void report_not_programmed(abi::Host& host, const abi::ServicePortKey& key, const std::string& name, const std::string& why) {
  abi::Error reason = sdk::empty_error();
  sdk::set_error(&reason, name, why);
  host.service_port_failed(&key, &reason);
}

void NotProgrammed::note(const abi::Transaction& transaction, const Problems& problems) {
  NamedKeys keys(transaction);
  std::map<std::string, abi::Protocol> failed;
  for (const auto& [name, why] : problems) {
    const auto named = keys.find(name);
    const auto before = names_.find(name);
    const abi::Protocol protocol = before == names_.end() ? abi::Protocol::kTcp : before->second;
    // A service port that is not part of the transaction has failed in an earlier one.
    const abi::ServicePortKey key = named ? *named : sdk::parse_service_port_name(name, protocol);
    report_not_programmed(host_, key, name, why);
    failed.emplace(name, key.protocol);
  }
  if (transaction.kind == abi::TransactionKind::kFull) {
    names_.clear();
  } else {
    for (const auto& key : sdk::range<abi::ServicePortKey>(transaction.removed)) names_.erase(sdk::service_port_name(key));
    for (const auto& port : sdk::range<abi::ServicePort>(transaction.service_ports)) {
      names_.erase(sdk::service_port_name(port.key));
    }
  }
  names_.merge(failed);
}

void NotProgrammed::request_retry(const std::string& name, const std::string& what) {
  if (names_.contains(name)) host_.request_resync(sdk::view(name + " has got " + what));
}

void NotProgrammed::mark_programmed(const std::string& name) {
  const auto found = names_.find(name);
  if (found == names_.end()) return;
  const abi::ServicePortKey key = sdk::parse_service_port_name(name, found->second);
  host_.service_port_failed(&key, nullptr);
  names_.erase(found);
}

}  // namespace sluice::netfilter
