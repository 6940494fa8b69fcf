// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Node ports are not held by sockets in this mode: a program may listen on one, and wonder why nobody comes.
// Says so, once for each. The apply thread only.
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
  struct Look {
    std::function<std::vector<sockets::Listener>(abi::Protocol)> listeners;
    // "nginx (process 812)". Expensive.
    std::function<std::string(abi::Protocol, const sockets::Listener&)> holder;
  };
  explicit PortClashes(Look look) : look_(std::move(look)) {}

  // Sentences about clashes that were not there at the last call; a few at a time. `node_ports`: with the names of
  // service ports. `addresses`: where they are served.
  std::vector<std::string> find(const std::map<NodePort, std::string>& node_ports,
                                const std::vector<abi::Address>& addresses);

 private:
  Look look_;
  std::set<NodePort> known_;
};

}  // namespace sluice::ipvs
