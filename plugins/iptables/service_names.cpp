// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/service_names.hpp"

#include "plugins/iptables/names.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::iptables {

void ServiceNames::note(const abi::Transaction& transaction) {
  if (transaction.kind == abi::TransactionKind::kFull) inputs_.clear();
  for (const auto& key : sdk::range<abi::ServicePortKey>(transaction.removed)) inputs_.erase(hash_input(key));
  for (const auto& port : sdk::range<abi::ServicePort>(transaction.service_ports)) inputs_.insert(hash_input(port.key));
}

bool ServiceNames::contains(std::string_view service_port_name, abi::Protocol protocol) const {
  return inputs_.contains(hash_input(service_port_name, sdk::protocol_name(protocol)));
}

ServiceNames::ByHash ServiceNames::by_hash() const {
  ByHash names;
  names.reserve(inputs_.size());
  for (const std::string& input : inputs_) {
    names.emplace(netfilter::base32_hash(input), split_hash_input(input));
  }
  return names;
}

}  // namespace sluice::iptables
