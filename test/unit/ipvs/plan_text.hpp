// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Plans as lines, for comparison in tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "plugins/ipvs/plan.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::test {

// "server 10.0.0.1:80/TCP rr [p 300] -> 10.1.0.1:80", "set KUBE-CLUSTER-IP 10.0.0.1,tcp:80", "bind 10.0.0.1", "closed
// …"
inline std::vector<std::string> lines_of(const ipvs::ServicePlan& plan, abi::Family family) {
  std::vector<std::string> lines;
  for (const ipvs::WantedServer& wanted : plan.servers) {
    std::string line = "server " + ipvs::to_string(wanted.server.key, family) + " " + wanted.server.scheduler;
    if (wanted.server.flags != 0) {
      line +=
          " flags " + std::to_string(wanted.server.flags) + " for " + std::to_string(wanted.server.persistence_seconds);
    }
    line += " ->";
    for (const ipvs::RealServer& real : *wanted.real) line += " " + ipvs::to_string(real, family);
    lines.push_back(line);
  }
  for (const ipvs::SetItem& item : plan.items) {
    lines.push_back("set " + ipvs::set_name(item.set, family) + " " +
                    ipvs::to_string(item.entry, ipvs::spec(item.set).type, family));
  }
  for (const abi::Address& address : plan.addresses) lines.push_back("bind " + sdk::to_string(address, family));
  for (const ipvs::ServerKey& key : plan.closed) lines.push_back("closed " + ipvs::to_string(key, family));
  for (const std::string& problem : plan.problems) lines.push_back("problem " + problem);
  return lines;
}

}  // namespace sluice::test
