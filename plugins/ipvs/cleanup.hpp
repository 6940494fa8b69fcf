// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Removes everything this backend owns.
#pragma once

#include <exception>
#include <vector>

#include "plugins/ipvs/claims.hpp"
#include "plugins/ipvs/links/address_writer.hpp"
#include "plugins/ipvs/rules/rule_writer.hpp"
#include "plugins/ipvs/servers/server_writer.hpp"
#include "plugins/ipvs/sets/set_writer.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::ipvs {

struct Parts {
  RuleWriter* rules;      // null: iptables is not usable
  ServerWriter* servers;  // null: IPVS is not loaded, and a request would load it
  SetWriter* sets;        // null: ipset is not loaded, or must not be touched
  AddressWriter* links;
};

// Continues after failures.
class Attempts {
 public:
  // Returns false if `work` threw.
  template <class Work>
  bool operator()(const Work& work) {
    try {
      work();
      return true;
    } catch (const std::exception&) {
      if (first_ == nullptr) first_ = std::current_exception();
      return false;
    }
  }
  // Rethrows the first failure.
  void finish() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

// Removes what `keep` does not cover: the virtual servers `ours`, addresses and link, chains, sets. A failure in one
// part does not stop the others. Only the sets are then kept, because the next clean-up identifies our virtual
// servers by them.
void remove_unclaimed(const Parts& parts, abi::Family family, const std::vector<ServerKey>& ours,
                      const NewBackendClaims& keep, const sdk::Logger& log, Attempts& attempt);

}  // namespace sluice::ipvs
