// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Private state of ServerWriter.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/ipvs/servers/drains.hpp"
#include "plugins/ipvs/servers/server_cache.hpp"
#include "plugins/ipvs/servers/server_writer.hpp"

namespace sluice::ipvs {

struct ServerWriter::State {
  State(ServerKernel& the_kernel, Options the_options, Now the_now, sdk::Logger the_log);

  using Batch = std::vector<const WantedServer*>;
  struct CommandRange {  // commands [begin, end) concern `wanted`
    const WantedServer* wanted;
    std::size_t begin;
    std::size_t end;
  };

  std::string name(const ServerKey& key) const { return to_string(key, options.family); }
  bool grace(const ServerKey& key) const {
    // UDP and SCTP: the kernel ends the flows of a real server that is gone at their next packet (BEH 6.4).
    return key.protocol == abi::Protocol::kTcp && options.when_removed != WhenRemoved::kReset;
  }

  // Writes the differences; returns the servers whose kernel state was not as remembered.
  Batch write(const Batch& pending, Outcome& outcome);
  void flush(std::vector<ServerCommand>& commands, std::vector<CommandRange>& parts, Outcome& outcome,
             Batch& mismatches);
  // Records the results for one virtual server. True: the kernel's state was not as remembered.
  bool record_results(const CommandRange& part, const std::vector<ServerCommand>& commands,
                      const std::vector<int>& results, Outcome& outcome);
  bool is_excluded(const ServerKey& key) const { return options.excluded && options.excluded(key); }
  void read_again(const Batch& pending);
  // Removes the drained real servers of these virtual servers: one dump each, then all removals together.
  void remove_drained(const std::vector<ServerKey>& keys);
  void check_drains(const ServerKey& key, std::vector<ServerCommand>& commands);
  void remember(const ServerKey& key, RealChanges changes);

  ServerKernel& kernel;
  Options options;
  Now now;
  sdk::Logger log;
  Drains drains;
  ServerCache cache;
  std::set<std::string> schedulers;       // known to the kernel
  std::set<std::string> missing;          // unknown to the kernel; for one put()
  std::set<ServerKey> lowered;            // have real servers whose weight this put() lowered
  std::optional<ServerKey> last_scanned;  // by find_drift()
  std::size_t next_idle_scan = 0;         // by find_idle()
  bool refreshed = false;
};

}  // namespace sluice::ipvs
