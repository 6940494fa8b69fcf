// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/port_clashes.hpp"

#include <algorithm>
#include <cstddef>

#include "sluice/sdk/address.hpp"

namespace sluice::ipvs {
namespace {

constexpr std::size_t kMaxReports = 4;

}  // namespace

std::vector<std::string> PortClashes::find(const std::map<NodePort, std::string>& node_ports,
                                           const std::vector<abi::Address>& addresses) {
  std::vector<std::string> texts;
  std::set<NodePort> clashing;
  for (const abi::Protocol protocol : {abi::Protocol::kTcp, abi::Protocol::kUdp}) {
    const auto first = node_ports.lower_bound({protocol, 0});
    if (first == node_ports.end() || first->first.first != protocol) continue;
    for (const sockets::Listener& listener : sockets_.listeners(protocol)) {
      const NodePort port{protocol, listener.port};
      const auto served = node_ports.find(port);
      if (served == node_ports.end() || clashing.contains(port)) continue;
      const bool there = sdk::is_unspecified(listener.address) ||
                         std::find(addresses.begin(), addresses.end(), listener.address) != addresses.end();
      if (!there) continue;
      if (!known_.contains(port)) {
        if (texts.size() == kMaxReports) continue;
        texts.push_back("node port " + std::to_string(listener.port) +
                        (protocol == abi::Protocol::kTcp ? "/TCP" : "/UDP") + " of " + served->second +
                        " is listened on by " + sockets_.holder(protocol, listener) +
                        " too: the Service gets its connections; give one of them another port");
      }
      clashing.insert(port);
    }
  }
  known_ = std::move(clashing);
  return texts;
}

}  // namespace sluice::ipvs
