// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Whether virtual servers of kube-proxy's ipvs mode exist, and how many connections use them. One thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/cleanup/virtual_servers.hpp"

namespace sluice::cleanup {

// Whether there are virtual servers with an address on kube-ipvs0 or in one of kube-proxy's sets. False if that cannot
// be read.
bool ipvs_in_use();

// The same, from the text of /proc/net/ip_vs. No I/O.
bool has_ipvs_servers(std::string_view table, const IpvsOwnership& ownership);

// Connections through kube-proxy's virtual servers, active and inactive ones; 0 if that cannot be read.
std::size_t ipvs_connections();

// The same, from the text of /proc/net/ip_vs. No I/O.
std::size_t count_ipvs_connections(std::string_view table, const IpvsOwnership& ownership);

}  // namespace sluice::cleanup
