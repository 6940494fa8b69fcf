// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How everything goes again: at once, or after connections have ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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

struct Patience {
  std::function<std::uint64_t()> now;  // nanoseconds
  std::function<void(std::chrono::milliseconds)> pause;
};

// Lets connections to these virtual servers end, for `limit` at the longest; new ones are not taken.
void wait_for_connections(ServerWriter& servers, const std::vector<ServerKey>& keys, std::chrono::seconds limit,
                          const Patience& patience);

// Removes what `keep` does not cover: the virtual servers `ours`, addresses and link, chains, sets. A part that cannot
// be removed keeps none of the others from going; the first failure is thrown at the end.
// REQUIRES: look() or refresh() of the parts.
void remove_unclaimed(const Parts& parts, abi::Family family, const std::vector<ServerKey>& ours,
                      const SuccessorClaims& keep, const sdk::Logger& log);

}  // namespace sluice::ipvs
