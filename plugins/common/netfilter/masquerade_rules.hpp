// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Chains that are the same in all iptables-based modes of kube-proxy (BEH 5.4, 5.9): setting the masquerade mark,
// masquerading marked packets, accepting forwarded ones. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::netfilter {

// "0x00004000": eight digits, as kube-proxy writes it.
std::string mark_text(std::uint32_t mark);

// filter KUBE-FORWARD: accepts marked packets and packets of established connections.
std::vector<std::string> forward_rules(std::uint32_t mark);
// nat KUBE-POSTROUTING. The mark is cleared, so that a packet that passes twice is not masqueraded twice.
std::vector<std::string> postrouting_rules(std::uint32_t mark, bool random_fully);
// nat KUBE-MARK-MASQ.
std::vector<std::string> mark_masquerade_rules(std::uint32_t mark);

}  // namespace sluice::netfilter
