// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What IPVS holds as far as is known: everything since the last look, as our own messages changed it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/ipvs/servers/server_kernel.hpp"

namespace sluice::ipvs {

// In the kernel, but not as a real server that is wanted is to be: another weight than 1, or another way of forwarding.
struct OddReal {
  RealServer server;
  std::int32_t weight = 0;
  bool masquerades = true;
};

struct HeldServer {
  std::string scheduler;
  std::uint32_t flags = 0;
  std::uint32_t persistence_seconds = 0;
  RealServers real;         // weight 1 and masquerading; never null
  std::vector<OddReal> odd; // sorted by server; disjoint from `real`
  bool ours = false;        // written by put() and not removed since
  bool retired = false;     // weights are 0 because of quiesce()

  bool same_attributes(const VirtualServer& server) const noexcept {
    return scheduler == server.scheduler && flags == server.flags && persistence_seconds == server.persistence_seconds;
  }
  void take_attributes(const VirtualServer& server);
  const OddReal* find_odd(const RealServer& server) const;
};

// As read from the kernel.
HeldServer held_server(const VirtualServer& attributes, const std::vector<RealServerState>& real);

// What became of the real servers of one virtual server; in any order.
struct RealChanges {
  std::vector<RealServer> normal;   // are there now, with weight 1
  std::vector<RealServer> lowered;  // have weight 0 now
  std::vector<RealServer> gone;
  bool empty() const noexcept { return normal.empty() && lowered.empty() && gone.empty(); }
};
// Where the result is as `wanted` (which may be null), that list is shared.
void apply(RealChanges changes, HeldServer& held, const RealServers& wanted);

class ServerMemory {
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
  std::size_t ours_ = 0;  // of those that are ours
  std::size_t real_ = 0;
};

}  // namespace sluice::ipvs
