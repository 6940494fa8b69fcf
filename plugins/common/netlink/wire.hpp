// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Opens wires to the kernel, with errors as sdk::Failure. Tests open wires of their own.
#pragma once

#include <functional>
#include <memory>

#include "lib/netlink/wire.hpp"

namespace sluice::netlink {

using OpenWire = std::function<std::unique_ptr<lib::netlink::Wire>()>;

// As lib::netlink::open_kernel(). Throws sdk::Failure.
std::unique_ptr<lib::netlink::Wire> open_kernel(int protocol);

}  // namespace sluice::netlink
