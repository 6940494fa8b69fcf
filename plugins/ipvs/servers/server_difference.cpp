// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/server_difference.hpp"

#include <algorithm>
#include <utility>

namespace sluice::ipvs {

void append_difference(const HeldServer* held, const WantedServer& wanted, bool grace,
                       std::vector<ServerCommand>& commands) {
  static const std::vector<RealServer> kNone;
  const std::vector<RealServer>& real = wanted.real ? *wanted.real : kNone;
  const auto append = [&](ServerCommandKind kind, const RealServer& server, std::int32_t weight) {
    ServerCommand command;
    command.kind = kind;
    command.server.key = wanted.server.key;
    command.real = server;
    command.weight = weight;
    commands.push_back(std::move(command));
  };
  if (held == nullptr || !held->same_attributes(wanted.server)) {
    ServerCommand command;
    command.kind = held == nullptr ? ServerCommandKind::kAddServer : ServerCommandKind::kEditServer;
    command.server = wanted.server;
    commands.push_back(std::move(command));
  }
  if (held == nullptr) {
    for (const RealServer& server : real) append(ServerCommandKind::kAddReal, server, 1);
    return;
  }
  if (held->real == wanted.real && held->deviating.empty()) return;
  // Additions first, so that at every instant there is an endpoint to connect to.
  auto at = held->real->begin();
  for (const RealServer& server : real) {
    while (at != held->real->end() && *at < server) ++at;
    if (at != held->real->end() && *at == server) continue;
    // kube-proxy removes a draining real server and adds it again; restoring its weight keeps its connections.
    append(held->find_deviating(server) != nullptr ? ServerCommandKind::kEditReal : ServerCommandKind::kAddReal, server,
           1);
  }
  const auto leave = [&](const RealServer& server) {
    append(grace ? ServerCommandKind::kEditReal : ServerCommandKind::kDeleteReal, server, 0);
  };
  const auto is_wanted = [&](const RealServer& server) { return std::binary_search(real.begin(), real.end(), server); };
  auto next = real.begin();
  for (const RealServer& server : *held->real) {
    while (next != real.end() && *next < server) ++next;
    if (next == real.end() || !(*next == server)) leave(server);
  }
  for (const DeviatingServer& deviating : held->deviating) {
    if (is_wanted(deviating.server) || (grace && deviating.weight == 0 && deviating.masquerades)) continue;
    leave(deviating.server);
  }
}

}  // namespace sluice::ipvs
