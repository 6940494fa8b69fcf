// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The counters of IPVS as rows: of each service port, of its frontends, and of its endpoints. Pure.
#pragma once

#include <functional>
#include <vector>

#include "plugins/common/inspection/rows.hpp"
#include "plugins/ipvs/servers/server_kernel.hpp"
#include "plugins/ipvs/wanted.hpp"

namespace sluice::ipvs {

// `real_servers` is called for virtual servers of service ports that `rows` wants. Virtual servers that no service port
// wants are not in the answer.
void count(const std::vector<VirtualServerState>& servers,
           const std::function<std::vector<RealServerState>(const ServerKey&)>& real_servers, const Wanted& wanted,
           inspection::CounterRows& rows);

}  // namespace sluice::ipvs
