// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists and removes ipsets through netlink, without the ipset program. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"
#include "lib/ip.hpp"

namespace sluice::cleanup {

// An entry of a set of kube-proxy's ipvs mode: an address with protocol and port, or, in a set of node ports, only a
// port.
struct SetEntry {
  bool has_address = false;
  lib::IpAddress address;
  std::uint8_t protocol = 0;  // 0 if all entries of the set have one protocol
  std::uint16_t port = 0;
};

// Removes the selected sets. A set that a rule or another set still uses is a failure. Adds to `into`.
void remove_sets(const Selection& selection, Removal& into);

// Passes every entry of the sets with wanted names to `take`. Sets that cannot be read are skipped.
void read_sets(const std::function<bool(std::string_view name)>& wanted,
               const std::function<void(std::string_view name, const SetEntry&)>& take);

}  // namespace sluice::cleanup
