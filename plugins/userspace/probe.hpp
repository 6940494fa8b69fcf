// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Checks that the kernel supports the portal rules, and that this process has the privileges of the relay.
#pragma once

#include "plugins/common/netfilter/kernel.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

// Tries one rule of each kind. Throws sdk::Failure that names the missing kernel option.
void probe_kernel(netfilter::Kernel& kernel, abi::Family family);
// Throws sdk::Failure if the kernel does not let this process mark its packets.
void probe_socket_mark(abi::Family family);

// Why endpoints cannot see the addresses of clients, with the remedy; empty if they can.
std::string client_address_problem(abi::Family family);

}  // namespace sluice::userspace
