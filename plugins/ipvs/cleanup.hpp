// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How everything goes again.
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
  RuleWriter* rules;      // null: it cannot be there, and asking would bring it
  ServerWriter* servers;  // null as well
  SetWriter* sets;        // null as well
  AddressWriter* links;
};

// Goes on after failures.
class Attempts {
 public:
  // False: it failed.
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
  // Throws what failed first.
  void finish() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

// Removes what `keep` does not cover: the virtual servers `ours`, addresses and link, chains, sets. A part that cannot
// be removed keeps none of the others from going but the sets: they say which virtual servers are ours, to the next
// clean-up as well.
void remove_unclaimed(const Parts& parts, abi::Family family, const std::vector<ServerKey>& ours,
                      const SuccessorClaims& keep, const sdk::Logger& log, Attempts& attempt);

}  // namespace sluice::ipvs
