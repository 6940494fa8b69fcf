// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Kernel objects of which there is one: the table of nftables in each address family, the link of ipvs mode, and its
// virtual servers, which sets and addresses identify.
#pragma once

#include <array>
#include <string_view>

#include "names/modes.hpp"

namespace sluice::names {

struct Object {
  std::string_view name;  // ends with a NUL
  Modes modes;
  Writer writer;
};
inline constexpr Object kNftTable{"kube-proxy", kNftables, Writer::kBoth};
inline constexpr Object kServiceLink{"kube-ipvs0", kIpvs, Writer::kBoth};
inline constexpr Object kVirtualServers{"virtual-servers", kIpvs, Writer::kBoth};

// Families of nftables.
constexpr std::string_view nft_family(bool ipv6) noexcept { return ipv6 ? "ip6" : "ip"; }

}  // namespace sluice::names
