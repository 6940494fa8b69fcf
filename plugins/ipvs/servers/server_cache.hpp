// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The known state of IPVS: the last dump, updated with our own messages. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/ipvs/servers/server_kernel.hpp"

namespace sluice::ipvs {

// A real server in the kernel with a weight other than 1 or another forwarding method.
struct DeviatingServer {
  RealServer server;
  std::int32_t weight = 0;
  bool masquerades = true;
};

struct HeldServer {
  std::string scheduler;
  std::uint32_t flags = 0;
  std::uint32_t persistence_seconds = 0;
  RealServers real;         // weight 1 and masquerading; never null
  std::vector<DeviatingServer> deviating;  // sorted by server; disjoint from `real`
  bool ours = false;        // written by put() and not removed since
  bool retired = false;     // weights are 0 because of quiesce()

  bool same_attributes(const VirtualServer& server) const noexcept {
    return scheduler == server.scheduler && flags == server.flags && persistence_seconds == server.persistence_seconds;
  }
  void take_attributes(const VirtualServer& server);
  const DeviatingServer* find_deviating(const RealServer& server) const;
};

// From a dump.
HeldServer held_server(const VirtualServer& attributes, const std::vector<RealServerState>& real);

// New states of real servers of one virtual server; in any order.
struct RealChanges {
  std::vector<RealServer> normal;   // weight 1
  std::vector<RealServer> lowered;  // weight 0
  std::vector<RealServer> gone;
  bool empty() const noexcept { return normal.empty() && lowered.empty() && gone.empty(); }
};
// If the result equals `wanted` (may be null), that list is shared.
void apply(RealChanges changes, HeldServer& held, const RealServers& wanted);

class ServerCache {
 public:
  const HeldServer* find(const ServerKey& key) const;
  void store(const ServerKey& key, HeldServer server);
  void erase(const ServerKey& key);

  const std::map<ServerKey, HeldServer>& all() const noexcept { return servers_; }
  std::size_t servers() const noexcept { return ours_; }
  std::size_t real_servers() const noexcept { return real_; }

 private:
  void count(const HeldServer& server, bool comes) noexcept;

  std::map<ServerKey, HeldServer> servers_;
  std::size_t ours_ = 0;  // virtual servers of ours
  std::size_t real_ = 0;
};

}  // namespace sluice::ipvs
