// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The packet mark of connections from the daemon to endpoints in userspace mode, and the match that excludes these
// packets from rules in OUTPUT chains. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "plugins/common/netfilter/masquerade_rules.hpp"

namespace sluice::netfilter {

// One bit each. The second one is used if --iptables-masquerade-bit is the first one. The registry of packet marks
// (fwmark/registry) has an entry for each bit. These two are Cilium's alone, which replaces kube-proxy and interprets
// them only together with its own number in bits 8 to 11. Calico accepts packets by bits above 15.
inline constexpr std::array<std::uint32_t, 2> kRelayMarks{0x1000, 0x40};

// A mark that shares no bit with the masquerade mark.
constexpr std::uint32_t relay_mark(std::uint32_t masquerade_mark) noexcept {
  return (masquerade_mark & kRelayMarks[0]) == 0 ? kRelayMarks[0] : kRelayMarks[1];
}

inline std::string not_relayed_match(std::uint32_t mark) {
  return "-m mark ! --mark " + mark_text(mark) + "/" + mark_text(mark);
}

}  // namespace sluice::netfilter
