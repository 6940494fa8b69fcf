// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Follows a packet through the rules of the kernel, for `sluicectl explain`. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plugins/common/inspection/rows.hpp"
#include "plugins/iptables/packet_rules.hpp"
#include "plugins/iptables/state.hpp"

namespace sluice::iptables {

// Whether the list of the match `recent` has the client since at most `seconds`.
using IsRemembered = std::function<bool(const std::string& list, std::uint32_t seconds)>;

// Adds the steps of steps.packet(), the last one with the verdict. `written`: the state to name missing rules of; null if
// it is not known.
void explain(const PacketRules& rules, const MatchFacts& facts, const IsRemembered& is_remembered, const State* written,
             inspection::Explanation& steps);

}  // namespace sluice::iptables
