// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Finds the process that holds a port of this node, from /proc.
#pragma once

#include <cstdint>
#include <string>

#include "sluice/abi/types.hpp"

namespace sluice::sockets {

// A phrase such as "nginx (process 812)", "this process", "a connection that is still closing" or "a program of this
// node". `address` all zero: any address. Reads the sockets of this network namespace and the descriptors of all
// processes: some milliseconds on a usual node, some tenths of a second on a large one.
std::string find_port_holder(abi::Family family, abi::Protocol protocol, const abi::Address& address,
                             std::uint16_t port);

}  // namespace sluice::sockets
