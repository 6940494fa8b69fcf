// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sets of ipset, by netlink: no program ipset is needed. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ip.hpp"
#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"

namespace sluice::cleanup {

// What a set of kube-proxy's ipvs mode lists: an address with protocol and port, or, in a
// set of node ports, a port alone.
struct SetEntry {
  bool has_address = false;
  base::IpAddress address;
  std::uint8_t protocol = 0;  // 0 where the set is of one protocol
  std::uint16_t port = 0;
};

// Removes those sets. One that a rule or another set still uses is a failure. A kernel
// without ipset has none. Adds to `into`.
void remove_sets(const Selection& selection, Removal& into);

// Every entry of every set whose name is wanted. Sets that cannot be read are as good as empty.
void read_sets(const std::function<bool(std::string_view name)>& wanted,
               const std::function<void(std::string_view name, const SetEntry&)>& take);

}  // namespace sluice::cleanup
