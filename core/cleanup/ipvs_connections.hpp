// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Whether kube-proxy's ipvs mode has left something that carries connections, and how many.
// One thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/cleanup/virtual_servers.hpp"

namespace sluice::cleanup {

// There are virtual servers whose address stands on kube-ipvs0, or in one of kube-proxy's sets: mode ipvs served here,
// and connections may go through it. False, too, when that cannot be read.
bool ipvs_stands();

// The same, from the text of /proc/net/ip_vs. Pure.
bool has_ipvs_servers(std::string_view table, const IpvsOwnership& ownership);

// Connections through kube-proxy's virtual servers, those in the making and at their end among them; 0 when that cannot
// be read.
std::size_t ipvs_connections();

// The same, from the text of /proc/net/ip_vs. Pure.
std::size_t count_ipvs_connections(std::string_view table, const IpvsOwnership& ownership);

}  // namespace sluice::cleanup
