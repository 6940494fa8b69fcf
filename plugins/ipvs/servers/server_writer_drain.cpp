// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "plugins/common/log_ids.hpp"
#include "plugins/common/netlink/error.hpp"
#include "plugins/ipvs/servers/refusal_text.hpp"
#include "plugins/ipvs/servers/server_writer_state.hpp"

namespace sluice::ipvs {
namespace {

// With more connections, IPVS's counters alone decide.
constexpr std::uint64_t kFewConnections = 20'000;
// Time limit: the list also has connections of the other family and of foreign virtual servers.
constexpr std::uint64_t kReading = 500'000'000;  // nanoseconds

// Number of connections per real server, where it is not zero.
using ConnectionCounts = std::map<ServerKey, std::map<RealServer, std::uint64_t>>;

// Appends those of `counted` whose connections have all ended. A connection that ends during the listing may hide or
// repeat another, so a server counts only if as many were listed as counted.
void find_over(ConnectionCounts counted, const IpvsTimeouts& timeouts, const VisitConnections& visit, const MoreTime& more,
               std::vector<ServerKey>& over) {
  using Client = std::pair<abi::Address, std::uint16_t>;
  std::map<std::pair<ServerKey, RealServer>, std::set<Client>> ended;
  const bool all = visit(
      [&](const ServerConnection& connection) {
        if (is_alive(connection, timeouts)) {
          counted.erase(connection.server);
        } else if (!connection.is_template() && counted.contains(connection.server)) {
          ended[{connection.server, connection.real}].emplace(connection.client, connection.client_port);
        }
        return !counted.empty();
      },
      more);
  if (!all) return;
  for (const auto& server : counted) {
    const bool complete = std::all_of(server.second.begin(), server.second.end(), [&](const auto& real) {
      const auto found = ended.find({server.first, real.first});
      return found != ended.end() && found->second.size() == real.second;
    });
    if (complete) over.push_back(server.first);
  }
}

}  // namespace

void ServerWriter::tick() {
  const Drains::SaveGuard saved(state_->drains);
  std::vector<ServerKey> keys;
  for (const auto& [key, reals] : state_->drains.list().all()) keys.push_back(key);
  state_->remove_drained(keys);
}

std::size_t ServerWriter::draining() const noexcept { return state_->drains.list().size(); }

void ServerWriter::State::remember(const ServerKey& key, RealChanges changes) {
  const HeldServer* const held = cache.find(key);
  if (held == nullptr || changes.empty()) return;
  HeldServer changed = *held;
  const RealServers real = held->real;
  apply(std::move(changes), changed, real);
  cache.store(key, std::move(changed));
}

void ServerWriter::State::check_drains(const ServerKey& key, std::vector<ServerCommand>& commands) {
  const DrainList::OfServer* const found = drains.list().of(key);
  if (found == nullptr) return;
  std::map<RealServer, RealServerState> states;
  for (const RealServerState& state : kernel.real_servers(key)) states.emplace(state.server, state);
  const std::uint64_t time = now();
  RealChanges vanished;
  for (const auto& [real, deadline] : DrainList::OfServer(*found)) {
    const auto state = states.find(real);
    if (state == states.end()) {
      drains.end(key, real);
      vanished.gone.push_back(real);
      continue;
    }
    const bool over = deadline != DrainList::kNever && time >= deadline;
    // Another program has set its weight: new connections could arrive between this check and the removal.
    const bool has_weight = state->second.weight != 0;
    if (!over && !has_weight && state->second.connections != 0) continue;
    ServerCommand command;
    command.kind = over || !has_weight ? ServerCommandKind::kDeleteReal : ServerCommandKind::kEditReal;
    command.server.key = key;
    command.real = real;
    command.weight = 0;
    commands.push_back(std::move(command));
  }
  remember(key, std::move(vanished));
}

void ServerWriter::State::remove_drained(const std::vector<ServerKey>& keys) {
  std::vector<ServerCommand> commands;
  for (const ServerKey& key : keys) check_drains(key, commands);
  if (commands.empty()) return;
  const std::vector<int> results = kernel.execute(commands);
  std::map<ServerKey, RealChanges> changes;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const ServerCommand& command = commands[i];
    if (results[i] == 0 && command.kind == ServerCommandKind::kEditReal) continue;
    if (results[i] != 0 && results[i] != ENOENT && results[i] != ESRCH) {
      log.warning(log_id::kRealServerDrainFailed, refusal_text(command, results[i], options.family) + "; retrying");
      continue;
    }
    drains.end(command.server.key, command.real);
    changes[command.server.key].gone.push_back(command.real);
  }
  for (auto& [key, change] : changes) remember(key, std::move(change));
}

void ServerWriter::quiesce(const std::vector<ServerKey>& keys) {
  std::vector<ServerCommand> commands;
  for (const ServerKey& key : keys) {
    const HeldServer* const held = state_->cache.find(key);
    if (held == nullptr) continue;
    ServerCommand command;
    command.kind = ServerCommandKind::kEditReal;
    command.server.key = key;
    command.weight = 0;
    const auto append = [&](const RealServer& server) {
      command.real = server;
      commands.push_back(command);
    };
    for (const RealServer& server : *held->real) append(server);
    for (const DeviatingServer& deviating : held->deviating) {
      if (deviating.weight != 0) append(deviating.server);
    }
  }
  if (commands.empty()) return;
  const std::vector<int> results = kernel_.execute(commands);
  std::map<ServerKey, RealChanges> changes;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const ServerKey& key = commands[i].server.key;
    if (results[i] == 0) {
      changes[key].lowered.push_back(commands[i].real);
    } else if (results[i] == ENOENT || results[i] == ESRCH) {
      changes[key].gone.push_back(commands[i].real);
    } else {
      netlink::fail(results[i], state_->name(key), "cannot retire virtual server " + state_->name(key));
    }
  }
  for (auto& [key, change] : changes) {
    HeldServer held = *state_->cache.find(key);
    apply(std::move(change), held, nullptr);
    held.retired = true;
    state_->cache.store(key, std::move(held));
  }
}

std::vector<ServerKey> ServerWriter::find_idle(const std::vector<ServerKey>& keys, const VisitConnections& visit) {
  const std::uint64_t end = state_->now() + static_cast<std::uint64_t>(kScanBudget.count()) * 1'000'000;
  std::vector<ServerKey> idle;
  ConnectionCounts counted;
  std::uint64_t connections = 0;
  std::size_t& at = state_->next_idle_scan;
  for (std::size_t scanned = 0; scanned < keys.size(); ++scanned) {
    const ServerKey& key = keys[at++ % keys.size()];
    std::uint64_t here = 0;
    for (const RealServerState& state : kernel_.real_servers(key)) {
      if (state.connections == 0) continue;
      here += state.connections;
      counted[key][state.server] = state.connections;
    }
    connections += here;
    if (here == 0) idle.push_back(key);
    if (state_->now() >= end) break;
  }
  if (!keys.empty()) at %= keys.size();
  if (!counted.empty() && connections <= kFewConnections) {
    const std::uint64_t time_up = state_->now() + kReading;
    find_over(std::move(counted), kernel_.timeouts(), visit, [&] { return state_->now() < time_up; }, idle);
  }
  std::sort(idle.begin(), idle.end());
  return idle;
}

}  // namespace sluice::ipvs
