// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/cleanup.hpp"

#include <string>

#include "plugins/common/log_ids.hpp"
#include "plugins/common/netfilter/claims.hpp"

namespace sluice::ipvs {
void remove_unclaimed(const Parts& parts, abi::Family family, const std::vector<ServerKey>& ours,
                      const NewBackendClaims& keep, const sdk::Logger& log, Attempts& attempt) {
  const bool servers_go = parts.servers != nullptr && !keep.covers(servers_claim());
  const bool none_left = !servers_go || attempt([&] { parts.servers->remove(ours); });
  if (!keep.covers(link_claim())) attempt([&] { parts.links->remove_all(); });
  if (parts.rules != nullptr) {
    attempt([&] {
      parts.rules->remove_all([&](netfilter::Table table, const std::string& chain) {
        return keep.covers(netfilter::claim_of(family, table, chain));
      });
    });
  }
  if (parts.sets != nullptr && none_left) {
    attempt([&] {
      for (const std::string& set :
           parts.sets->remove_all([&](const std::string& name) { return keep.covers(set_claim(name)); })) {
        log.warning(log_id::kSetInUse, "set " + set + " is used by a foreign rule or set: emptied, but not destroyed");
      }
    });
  }
}

}  // namespace sluice::ipvs
