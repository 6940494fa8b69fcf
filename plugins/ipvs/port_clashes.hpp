// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// In this mode no socket reserves node ports: a program may listen on one and get no connections. Reports each clash
// once. The apply thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/common/sockets/socket_table.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::ipvs {

using NodePort = std::pair<abi::Protocol, std::uint16_t>;

class PortClashes {
 public:
  struct Sockets {
    std::function<std::vector<sockets::Listener>(abi::Protocol)> listeners;
    // "nginx (process 812)". Expensive.
    std::function<std::string(abi::Protocol, const sockets::Listener&)> holder;
  };
  explicit PortClashes(Sockets sockets) : sockets_(std::move(sockets)) {}

  // Sentences about clashes that the last call did not have; a few at a time. `node_ports`: with the names of service
  // ports. `addresses`: where node ports are served.
  std::vector<std::string> find(const std::map<NodePort, std::string>& node_ports,
                                const std::vector<abi::Address>& addresses);

 private:
  Sockets sockets_;
  std::set<NodePort> known_;
};

}  // namespace sluice::ipvs
