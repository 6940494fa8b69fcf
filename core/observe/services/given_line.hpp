// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Prints delivered service ports in the format in which backends print the kernel state (abi::Inspection), so that the
// two can be compared. Pure.
#pragma once

#include <set>
#include <string>

#include "core/observe/services/query.hpp"
#include "core/store/service_port.hpp"

namespace sluice::observe {

// "shop/cart:http 172.30.0.41:80/tcp"; a node port is ":30080/tcp".
std::string frontend_text(const store::ServicePort& port, const store::Frontend& frontend);

// The frontend and its destinations: "shop/cart:http 172.30.0.41:80/tcp -> 10.180.0.1:80, 10.180.2.1:80". The verdict
// without endpoints depends on the backend, so the line only says "no endpoints".
std::string given_line(const store::ServicePort& port, const store::Frontend& frontend,
                       const NodePortAddresses& node_ports);

// The endpoints that packets for this frontend may reach, as "10.180.0.1:80".
std::set<std::string> endpoints_for(const store::ServicePort& port, const store::Frontend& frontend);

// Whether connections from outside go only to endpoints of this node.
bool uses_local_list(const store::ServicePort& port, const store::Frontend& frontend);

}  // namespace sluice::observe
