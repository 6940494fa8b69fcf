// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// IPVS in memory, with the errors of the kernel. It counts requests and fails on demand.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/ipvs/servers/server_kernel.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {

class FakeServerKernel final : public ServerKernel {
 public:
  struct Real {
    std::int32_t weight = 1;
    bool masquerades = true;
    std::uint64_t connections = 0;
    std::uint64_t active = 0;
    IpvsCounters counters{};
    bool operator==(const Real& other) const {
      return weight == other.weight && masquerades == other.masquerades && connections == other.connections;
    }
  };
  struct Server {
    VirtualServer attributes;
    std::map<RealServer, Real> real{};
    IpvsCounters counters{};
  };

  // The kernel's contents; tests read and change them.
  std::map<ServerKey, Server> held;
  std::set<std::string> schedulers{"rr", "wrr", "lc", "wlc", "sh", "dh", "mh", "sed", "nq"};
  IpvsTimeouts set_to{0, 0, 300};

  // Returns an errno instead of executing the command; 0: execute it.
  std::function<int(const ServerCommand&)> refuse;
  // Called before each command: simulates another program that changes things concurrently.
  std::function<void(const ServerCommand&)> meddle;
  // Changes the result of a dump of virtual servers.
  std::function<void(std::vector<VirtualServerState>&)> spoil_servers;
  // After that many further commands execute() throws kRetry; negative: never. That many further dumps work; negative: all.
  long commands_left = -1;
  long dumps_left = -1;

  std::uint64_t server_dumps = 0;
  std::uint64_t real_dumps = 0;
  std::uint64_t calls = 0;         // of execute() with at least one command
  std::uint64_t cut = 0;           // connections cut by the removal of their real server
  std::vector<ServerCommand> log;  // all commands

  std::vector<VirtualServerState> servers() override {
    ++server_dumps;
    count_dump();
    std::vector<VirtualServerState> list;
    for (const auto& [key, server] : held) list.push_back({server.attributes, server.counters});
    if (spoil_servers) spoil_servers(list);
    return list;
  }

  std::vector<RealServerState> real_servers(const ServerKey& key) override {
    ++real_dumps;
    count_dump();
    std::vector<RealServerState> list;
    const auto found = held.find(key);
    if (found == held.end()) return list;
    for (const auto& [real, state] : found->second.real) {
      list.insert(list.begin(),
                  {real, state.weight, state.masquerades, state.connections, state.active, state.counters});  // as the kernel: the newest first
    }
    return list;
  }

  std::vector<int> execute(const std::vector<ServerCommand>& commands) override {
    std::vector<int> results;
    if (!commands.empty()) ++calls;
    for (const ServerCommand& command : commands) {
      if (commands_left == 0) {
        commands_left = -1;
        throw sdk::Failure(abi::Code::kRetry, "IPVS", "the exchange with IPVS failed", ENOBUFS);
      }
      if (commands_left > 0) --commands_left;
      ++messages_;
      log.push_back(command);
      if (meddle) meddle(command);
      const int refused = refuse ? refuse(command) : 0;
      results.push_back(refused != 0 ? refused : carry_out(command));
    }
    return results;
  }

  void set_timeouts(const IpvsTimeouts& wanted) override {
    ++messages_;
    if (wanted.tcp != 0) set_to.tcp = wanted.tcp;
    if (wanted.tcp_fin != 0) set_to.tcp_fin = wanted.tcp_fin;
    if (wanted.udp != 0) set_to.udp = wanted.udp;
  }

  IpvsTimeouts timeouts() override { return set_to; }

  std::uint64_t messages() const override { return messages_; }

  // Shorthands.
  Real* find(const ServerKey& key, const RealServer& real) {
    const auto server = held.find(key);
    if (server == held.end()) return nullptr;
    const auto found = server->second.real.find(real);
    return found == server->second.real.end() ? nullptr : &found->second;
  }
  std::uint64_t dumps() const { return server_dumps + real_dumps; }

 private:
  void count_dump() {
    if (dumps_left == 0) {
      dumps_left = -1;
      throw sdk::Failure(abi::Code::kRetry, "IPVS", "the exchange with IPVS failed: a dump was broken", EAGAIN);
    }
    if (dumps_left > 0) --dumps_left;
  }

  int carry_out(const ServerCommand& command) {
    const auto server = held.find(command.server.key);
    switch (command.kind) {
      case ServerCommandKind::kAddServer:
        if (server != held.end()) return EEXIST;
        if (schedulers.count(command.server.scheduler) == 0) return ENOENT;
        held[command.server.key].attributes = command.server;
        return 0;
      case ServerCommandKind::kEditServer:
        if (server == held.end()) return ESRCH;
        if (schedulers.count(command.server.scheduler) == 0) return ENOENT;
        server->second.attributes = command.server;
        return 0;
      case ServerCommandKind::kDeleteServer:
        if (server == held.end()) return ESRCH;
        for (const auto& [real, state] : server->second.real) cut += state.connections;
        held.erase(server);
        return 0;
      default:
        return server == held.end() ? ESRCH : carry_out(server->second, command);
    }
  }

  int carry_out(Server& server, const ServerCommand& command) {
    const auto real = server.real.find(command.real);
    if (command.kind == ServerCommandKind::kAddReal) {
      if (real != server.real.end()) return EEXIST;
      server.real[command.real] = {command.weight, true, 0};
      return 0;
    }
    if (real == server.real.end()) return ENOENT;
    if (command.kind == ServerCommandKind::kEditReal) {
      real->second.weight = command.weight;
      real->second.masquerades = true;
      return 0;
    }
    cut += real->second.connections;
    server.real.erase(real);
    return 0;
  }

  std::uint64_t messages_ = 0;
};

}  // namespace sluice::ipvs
