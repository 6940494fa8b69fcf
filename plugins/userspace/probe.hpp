// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Can this kernel do what the rules of portals need, and may this process do what the relay needs?
#pragma once

#include "plugins/common/netfilter/kernel.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

// Throws sdk::Failure that names what is missing.
// Tries one rule of each kind.
void probe_kernel(netfilter::Kernel& kernel, abi::Family family);
// Throws sdk::Failure if the kernel does not let this process mark its packets.
void probe_socket_mark(abi::Family family);

}  // namespace sluice::userspace
