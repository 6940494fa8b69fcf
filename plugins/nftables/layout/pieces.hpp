// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parts of several kinds of chains. Pure.
#pragma once

#include <string>

#include "plugins/nftables/layout/expressions.hpp"
#include "plugins/nftables/layout/layout.hpp"

namespace sluice::nftables {

// FRONTEND and NODEPORT of docs/decisions/0021-nftables.md.
inline constexpr Fields kFrontendFields = {{Field::Kind::kDestination}, {Field::Kind::kProtocol}, {Field::Kind::kPort}};
inline constexpr Fields kNodePortFields = {{Field::Kind::kProtocol}, {Field::Kind::kPort}};

// Whether traffic from pods of this node can be matched, and whether all other traffic can: it cannot if the detector
// matches every packet.
bool can_match_local(const LayoutFacts& facts) noexcept;
bool can_match_other_sources(const LayoutFacts& facts) noexcept;
// REQUIRES: the match exists.
RuleBuilder& match_local(RuleBuilder& rule, const LayoutFacts& facts, bool inverted);

// The fixed chain that translates to the endpoint in the slot given by the priority. "endpoint",
// "nodeport-local-endpoint".
std::string slot_chain_name(bool node_port, bool local);
ChainSpec slot_chain(abi::Family family, bool node_port, bool local);

}  // namespace sluice::nftables
