// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netlink/wire.hpp"

#include <string>
#include <utility>

#include "plugins/common/netlink/error.hpp"

namespace sluice::netlink {

std::unique_ptr<lib::netlink::Wire> open_kernel(int protocol) {
  auto wire = lib::netlink::open_kernel(protocol);
  if (!wire) fail(wire.status().os_errno(), {}, "cannot open a netlink socket of protocol " + std::to_string(protocol));
  return std::move(*wire);
}

}  // namespace sluice::netlink
