// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a backend was told, in lines for people: one for each frontend, and what becomes of packets for it. In the words
// of the nftables backend about what the kernel has, so that the two compare. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot/transaction.hpp"

namespace sluice::app {

// Sorted by the name of the service port as it is printed. `name` limits them to one Service ("shop/cart") or service
// port ("shop/cart:http"); empty: all. "shop/cart:http 172.30.0.41:80/tcp -> 10.180.0.1:80, 10.180.2.1:80"; a node port
// is ":30080/tcp".
std::vector<std::string> told_lines(std::vector<snapshot::ServicePortPtr> ports, std::string_view name);

}  // namespace sluice::app
