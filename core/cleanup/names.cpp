// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "lib/text.hpp"
#include "names/claims.hpp"
#include "names/jumps.hpp"
#include "plugins/common/netfilter/relay_mark.hpp"

namespace sluice::cleanup {
namespace {

// Releases differ in which jumps are for new connections only.
constexpr std::array<std::string_view, 3> kMatches = {"", names::kNewConnections, names::kToThisNode};

bool makes(Modes modes, const auto& row) { return (row.modes & modes) != 0; }

}  // namespace

std::string mode_names(Modes modes) {
  std::string out;
  for (const names::Mode& mode : names::kModes) {
    if ((modes & mode.bit) != 0) out.append(out.empty() ? "" : ", ").append(mode.id);
  }
  return out;
}

std::vector<std::string> artifacts_of(Modes modes, lib::Family family) {
  const bool ipv6 = family == lib::Family::ipv6;
  std::vector<std::string> out;
  for (const names::Chain& chain : names::kChains) {
    if (makes(modes, chain)) out.push_back(names::chain_claim(ipv6, chain.table, chain.name));
  }
  for (const names::ServiceChains& chains : names::kServiceChains) {
    if (makes(modes, chains)) {
      out.push_back(names::chain_claim(ipv6, names::Table::kNat, std::string(chains.prefix).append("*")));
    }
  }
  for (const names::Set& set : names::kSets) {
    if (makes(modes, set)) out.push_back(names::set_claim(names::set_name(set, ipv6)));
  }
  if (makes(modes, names::kServiceLink)) out.push_back(names::link_claim());
  if (makes(modes, names::kVirtualServers)) out.push_back(names::servers_claim());
  if (makes(modes, names::kNftTable)) out.push_back(names::nft_claim(ipv6));
  lib::sort_unique(out);
  return out;
}

bool chosen_by_destination(std::string_view chain) {
  return std::any_of(names::kJumps.begin(), names::kJumps.end(), [&](const names::Jump& jump) {
    return jump.to == chain && (jump.more_matches & names::kAtNodeAddresses) != 0;
  });
}

std::vector<KnownJump> known_jumps() {
  std::vector<KnownJump> out;
  for (const names::Jump& jump : names::kJumps) {
    const auto add = [&](std::string match) {
      match.append(match.empty() ? "" : " ").append("-m comment --comment \"").append(jump.comment);
      match.append("\" -j ").append(jump.to);
      out.push_back({names::table_name(jump.table), jump.from, std::move(match), jump.to, jump.modes});
    };
    for (const std::string_view match : kMatches) {
      add(std::string(match));
      if ((jump.more_matches & names::kNotRelayed) == 0) continue;
      for (const std::uint32_t mark : netfilter::kRelayMarks) {
        add(std::string(match).append(match.empty() ? "" : " ").append(netfilter::not_relayed_match(mark)));
      }
    }
  }
  return out;
}

}  // namespace sluice::cleanup
