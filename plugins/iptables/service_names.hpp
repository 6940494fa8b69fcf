// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The names of the service ports in the last transactions, because names of chains have only hashes. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "plugins/common/netfilter/base32_hash.hpp"
#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/iptables/names.hpp"
#include "sluice/abi/transaction.hpp"

namespace sluice::iptables {

class ServiceNames {
 public:
  // Records the service ports, whether or not their rules can be written.
  void note(const abi::Transaction& transaction);

  bool contains(std::string_view service_port_name, abi::Protocol protocol) const;

  struct HashOfHash {
    std::size_t operator()(const netfilter::ShortHash& hash) const noexcept {
      return std::hash<std::string_view>()({hash.data(), hash.size()});
    }
  };
  // Service ports by the hash in their chain names. Valid until the next note().
  using ByHash = std::unordered_map<netfilter::ShortHash, HashInput, HashOfHash>;
  ByHash by_hash() const;

 private:
  std::unordered_set<std::string, netfilter::TextHash, std::equal_to<>> inputs_;  // of hash_input()
};

}  // namespace sluice::iptables
