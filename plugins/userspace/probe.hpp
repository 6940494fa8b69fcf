// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Checks that the kernel supports the portal rules, and that this process has the privileges of the relay.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "plugins/common/netfilter/kernel.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

// Tries one rule of each kind. Throws sdk::Failure that names the missing kernel option.
void probe_kernel(netfilter::Kernel& kernel, abi::Family family);
// Throws sdk::Failure if the kernel does not let this process mark its packets.
void probe_socket_mark(abi::Family family);

// What client addresses need beyond the rules.
inline constexpr std::string_view kNetAdmin = "CAP_NET_ADMIN";
inline constexpr std::string_view kNetRaw = "CAP_NET_RAW";
inline constexpr std::string_view kConntrackNetlink = "nf_conntrack_netlink";
inline constexpr std::array kClientAddressNeeds{kNetAdmin, kNetRaw, kConntrackNetlink};

// Why endpoints cannot see the addresses of clients; both are empty if they can.
struct ClientAddressProblem {
  std::string_view missing;  // one of kClientAddressNeeds
  std::string sentence;      // with the remedy
};
ClientAddressProblem client_address_problem(abi::Family family);

}  // namespace sluice::userspace
