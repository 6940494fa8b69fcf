// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/server_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "plugins/common/log_ids.hpp"
#include "plugins/common/netlink/error.hpp"
#include "plugins/ipvs/servers/refusal_text.hpp"
#include "plugins/ipvs/servers/server_difference.hpp"
#include "plugins/ipvs/servers/server_drift.hpp"
#include "plugins/ipvs/servers/server_writer_state.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace {

// Commands per batch; bounds memory at a start with many servers.
constexpr std::size_t kChunk = 4096;
// How often one call rereads and rewrites a virtual server that another program changes at the same time.
constexpr int kRounds = 3;

bool is_of_server(ServerCommandKind kind) {
  return kind == ServerCommandKind::kAddServer || kind == ServerCommandKind::kEditServer;
}

// Errors that do not depend on the command.
bool is_general(int error) {
  const abi::Code code = netlink::code_of(error);
  return code == abi::Code::kRetry || code == abi::Code::kDenied;
}

}  // namespace

ServerWriter::State::State(ServerKernel& the_kernel, Options the_options, Now the_now, sdk::Logger the_log)
    : kernel(the_kernel),
      options(std::move(the_options)),
      now(std::move(the_now)),
      log(the_log),
      drains({.family = options.family,
              .limited = options.when_removed == WhenRemoved::kDrain,
              .most = options.drain,
              .folder = options.state_dir,
              .now = now,
              .wall_clock = options.wall_clock ? options.wall_clock
                                               : [] { return static_cast<std::int64_t>(std::time(nullptr)); }},
             the_log) {}

ServerWriter::ServerWriter(ServerKernel& kernel, Options options, Now now, sdk::Logger log)
    : kernel_(kernel), state_(std::make_unique<State>(kernel, std::move(options), std::move(now), log)) {}

ServerWriter::~ServerWriter() = default;

void ServerWriter::refresh() {
  ServerCache fresh;
  std::set<std::string> schedulers;
  const auto dump = [&] {
    for (const VirtualServer& server : kernel_.servers()) {
      state_->options.deadline->check();
      if (fresh.find(server.key) != nullptr) continue;  // listed twice during concurrent additions
      HeldServer held = held_server(server, kernel_.real_servers(server.key));
      if (const HeldServer* const before = state_->cache.find(server.key)) {
        held.ours = before->ours;
        if (*before->real == *held.real) held.real = before->real;
      }
      schedulers.insert(server.scheduler);
      fresh.store(server.key, std::move(held));
    }
  };
  dump();
  // The dump may have missed some, as in find_drift(). At the first refresh() it is unknown which exist.
  const auto is_missing = [&](const auto& one) { return one.second.ours && fresh.find(one.first) == nullptr; };
  const auto& known = state_->cache.all();
  if (!state_->refreshed || std::any_of(known.begin(), known.end(), is_missing)) dump();
  state_->refreshed = true;
  state_->cache = std::move(fresh);
  state_->schedulers = std::move(schedulers);
  state_->drains.refreshed(state_->cache);
}

std::vector<ServerKey> ServerWriter::held() const {
  std::vector<ServerKey> keys;
  keys.reserve(state_->cache.all().size());
  for (const auto& [key, held] : state_->cache.all()) keys.push_back(key);
  return keys;
}

ServerWriter::Outcome ServerWriter::put(const std::vector<WantedServer>& wanted) {
  const Drains::SaveGuard saved(state_->drains);  // also if this throws: weights may be 0 already
  Outcome outcome;
  State::Batch pending;
  pending.reserve(wanted.size());
  for (const WantedServer& server : wanted) pending.push_back(&server);
  state_->missing.clear();
  state_->lowered.clear();
  for (int round = 0; !pending.empty() && round < kRounds; ++round) {
    if (round > 0) state_->read_again(pending);
    State::Batch mismatches = state_->write(pending, outcome);
    if (round == 0 && !mismatches.empty()) {
      const std::string more = mismatches.size() > 1 ? " (and " + std::to_string(mismatches.size() - 1) + " more)" : "";
      state_->log.warning(log_id::kVirtualServerChanged,
                          "virtual server " + state_->name(mismatches.front()->server.key) + more +
                              " was changed by another program; reading it again and restoring it");
    }
    pending = std::move(mismatches);
  }
  for (const WantedServer* server : pending) {
    outcome.refused[server->owner] = "virtual server " + state_->name(server->server.key) +
                                     " is changed by another program each time it is written; find it and stop it";
  }
  for (const WantedServer& server : wanted) {
    const HeldServer* const held = state_->cache.find(server.server.key);
    if (held == nullptr || !held->ours) outcome.missing.insert(server.server.key);
  }
  state_->remove_drained({state_->lowered.begin(), state_->lowered.end()});
  return outcome;
}

ServerWriter::State::Batch ServerWriter::State::write(const Batch& pending, Outcome& outcome) {
  std::vector<ServerCommand> commands;
  std::vector<CommandRange> parts;
  Batch mismatches;
  for (const WantedServer* wanted : pending) {
    options.deadline->check();
    const ServerKey& key = wanted->server.key;
    const HeldServer* held = cache.find(key);
    std::size_t begin = commands.size();
    append_difference(held, *wanted, grace(key), commands);
    const bool about_server = commands.size() > begin && is_of_server(commands[begin].kind);
    const std::string& scheduler = wanted->server.scheduler;
    if (about_server && missing.count(scheduler) != 0) {
      // The kernel has tried to load the module already; it would do so again for each virtual server.
      outcome.refused.emplace(wanted->owner, refusal_text(commands[begin], ENOENT, options.family));
      if (held == nullptr) {
        commands.resize(begin);
        continue;
      }
      commands.erase(commands.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    if (held == nullptr && is_excluded(key)) {
      // It may be foreign by now: real servers are added after the virtual server is known to be ours.
      commands.resize(begin + 1);
      parts.push_back({wanted, begin, begin + 1});
      flush(commands, parts, outcome, mismatches);
      held = cache.find(key);
      if (held == nullptr) continue;
      begin = 0;
      append_difference(held, *wanted, grace(key), commands);
    }
    parts.push_back({wanted, begin, commands.size()});
    const bool try_alone = about_server && missing.count(scheduler) == 0 && schedulers.count(scheduler) == 0;
    if (try_alone || commands.size() >= kChunk) flush(commands, parts, outcome, mismatches);
  }
  flush(commands, parts, outcome, mismatches);
  return mismatches;
}

void ServerWriter::State::flush(std::vector<ServerCommand>& commands, std::vector<CommandRange>& parts,
                                Outcome& outcome, Batch& mismatches) {
  std::vector<int> results;
  if (!commands.empty()) results = kernel.execute(commands);
  for (const CommandRange& part : parts) {
    if (record_results(part, commands, results, outcome)) mismatches.push_back(part.wanted);
  }
  commands.clear();
  parts.clear();
}

bool ServerWriter::State::record_results(const CommandRange& part, const std::vector<ServerCommand>& commands,
                                         const std::vector<int>& results, Outcome& outcome) {
  const WantedServer& wanted = *part.wanted;
  const ServerKey& key = wanted.server.key;
  const HeldServer* const before = cache.find(key);
  HeldServer held;
  if (before != nullptr) held = *before;
  if (!held.real) held.real = std::make_shared<const std::vector<RealServer>>();
  RealChanges changes;
  bool exists = before != nullptr;
  bool mismatch = false;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    const ServerCommand& command = commands[i];
    const int error = results[i];
    if (is_general(error)) netlink::fail(error, name(key), "cannot write virtual server " + name(key));
    if (is_of_server(command.kind)) {
      if (error == 0) {
        held.take_attributes(command.server);
        schedulers.insert(command.server.scheduler);
        exists = true;
        continue;
      }
      if (error == ENOENT) {
        missing.insert(command.server.scheduler);
        schedulers.erase(command.server.scheduler);
      }
      if (error == EEXIST && is_excluded(key)) {
        outcome.foreign.insert(key);
        if (options.foreign) options.foreign(key);
        break;
      }
      mismatch = error == EEXIST || error == ESRCH;
      if (!mismatch) outcome.refused.emplace(wanted.owner, refusal_text(command, error, options.family));
      if (!exists || mismatch) break;  // the commands about its real servers failed for the same reason
      continue;
    }
    const bool leaves = command.kind == ServerCommandKind::kDeleteReal || command.weight == 0;
    if (error == 0 && !leaves) {
      changes.normal.push_back(command.real);
    } else if (error == 0 && command.kind == ServerCommandKind::kEditReal) {
      changes.lowered.push_back(command.real);
    } else if (error == 0 || (leaves && error == ENOENT)) {
      changes.gone.push_back(command.real);
    } else if (error == EEXIST || error == ENOENT || error == ESRCH) {
      mismatch = true;
    } else {
      outcome.refused.emplace(wanted.owner, refusal_text(command, error, options.family));
    }
  }
  if (!exists) return mismatch;
  for (const RealServer& real : changes.normal) drains.end(key, real);
  for (const RealServer& real : changes.gone) drains.end(key, real);
  if (!changes.lowered.empty()) lowered.insert(key);
  apply(std::move(changes), held, wanted.real);
  held.ours = true;
  held.retired = false;
  drains.begin_found(key, held, wanted.real);
  cache.store(key, std::move(held));
  return mismatch;
}

void ServerWriter::State::read_again(const Batch& pending) {
  std::set<ServerKey> keys;
  for (const WantedServer* wanted : pending) keys.insert(wanted->server.key);
  std::map<ServerKey, HeldServer> found;
  for (const VirtualServer& server : kernel.servers()) {
    if (keys.count(server.key) == 0) continue;
    found.emplace(server.key, held_server(server, kernel.real_servers(server.key)));
  }
  for (const ServerKey& key : keys) {
    const auto server = found.find(key);
    if (server == found.end()) {
      cache.erase(key);
      drains.end(key);
      continue;
    }
    server->second.ours = true;
    drains.end_others(key, server->second);
    cache.store(key, std::move(server->second));
  }
}

void ServerWriter::remove(const std::vector<ServerKey>& keys) {
  std::vector<ServerCommand> commands;
  for (const ServerKey& key : keys) {
    if (state_->cache.find(key) == nullptr) continue;
    ServerCommand command;
    command.kind = ServerCommandKind::kDeleteServer;
    command.server.key = key;
    commands.push_back(std::move(command));
  }
  if (commands.empty()) return;
  const Drains::SaveGuard saved(state_->drains);
  const std::vector<int> results = kernel_.execute(commands);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (results[i] != 0 && results[i] != ESRCH) {
      netlink::fail(results[i], state_->name(commands[i].server.key),
                    "cannot remove virtual server " + state_->name(commands[i].server.key));
    }
    state_->cache.erase(commands[i].server.key);
    state_->drains.end(commands[i].server.key);
  }
}

std::optional<std::string> ServerWriter::find_drift() {
  const std::uint64_t end = state_->now() + static_cast<std::uint64_t>(kScanBudget.count()) * 1'000'000;
  if (server_drift(state_->cache, kernel_.servers(), state_->options.family)) {
    // A dump may miss one while others, of either family, are removed: the kernel counts positions in one table and
    // does not report the interruption.
    if (auto drift = server_drift(state_->cache, kernel_.servers(), state_->options.family)) return drift;
  }
  const auto& servers = state_->cache.all();
  if (servers.empty()) return std::nullopt;
  auto at = state_->last_scanned ? servers.upper_bound(*state_->last_scanned) : servers.begin();
  for (std::size_t scanned = 0; scanned < servers.size(); ++scanned, ++at) {
    if (at == servers.end()) at = servers.begin();
    if (!at->second.ours || at->second.retired) continue;
    state_->last_scanned = at->first;
    auto drift = real_server_drift(at->first, at->second, kernel_.real_servers(at->first), state_->options.family);
    if (drift) return drift;
    if (state_->now() >= end) break;
  }
  return std::nullopt;
}

void ServerWriter::list_drift(const std::function<bool(const ServerKey&)>& wants, const OnServerDrift& on_drift) {
  std::vector<VirtualServerState> found = kernel_.servers();
  // As in find_drift().
  if (server_drift(state_->cache, found, state_->options.family)) found = kernel_.servers();
  std::set<ServerKey> gone;
  compare_servers(state_->cache, std::move(found), [&](const ServerDrift& drift) {
    if (drift.kind == ServerDrift::Kind::kGone) gone.insert(drift.key);
    if (wants(drift.key)) on_drift(drift);
  });
  for (const auto& [key, held] : state_->cache.all()) {
    if (!held.ours || held.retired || gone.contains(key) || !wants(key)) continue;
    compare_real_servers(key, held, kernel_.real_servers(key), on_drift);
  }
}

std::size_t ServerWriter::servers() const noexcept { return state_->cache.servers(); }
std::size_t ServerWriter::real_servers() const noexcept { return state_->cache.real_servers(); }

}  // namespace sluice::ipvs
