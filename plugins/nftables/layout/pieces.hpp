// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What several kinds of chains have in common. Pure.
#pragma once

#include <string>

#include "plugins/nftables/layout/expressions.hpp"
#include "plugins/nftables/layout/layout.hpp"

namespace sluice::nftables {

// FRONTEND and NODEPORT of docs/decisions/0021-nftables.md.
inline constexpr Fields kFrontendFields = {{Field::Kind::kDestination}, {Field::Kind::kProtocol}, {Field::Kind::kPort}};
inline constexpr Fields kNodePortFields = {{Field::Kind::kProtocol}, {Field::Kind::kPort}};

// Whether there is a match for traffic from pods of this node, and for all other traffic: where every packet is from
// such a pod, there is nothing to match the others with.
bool knows_local(const LayoutFacts& facts) noexcept;
bool knows_not_local(const LayoutFacts& facts) noexcept;
// REQUIRES: there is one.
RuleBuilder& match_local(RuleBuilder& rule, const LayoutFacts& facts, bool inverted);

// A fixed chain: to the endpoint in the slot that is in the priority. "endpoint", "nodeport-local-endpoint".
std::string slot_chain_name(bool node_port, bool local);
ChainSpec slot_chain(abi::Family family, bool node_port, bool local);

}  // namespace sluice::nftables
