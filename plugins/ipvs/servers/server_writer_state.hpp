// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a ServerWriter knows; for its own files only.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/ipvs/servers/drains.hpp"
#include "plugins/ipvs/servers/server_memory.hpp"
#include "plugins/ipvs/servers/server_writer.hpp"

namespace sluice::ipvs {

struct ServerWriter::State {
  State(ServerKernel& the_kernel, Options the_options, Now the_now, sdk::Logger the_log);

  using Batch = std::vector<const WantedServer*>;
  struct Part {  // commands [begin, end) are about this one
    const WantedServer* wanted;
    std::size_t begin;
    std::size_t end;
  };

  std::string name(const ServerKey& key) const { return to_string(key, options.family); }
  bool grace(const ServerKey& key) const {
    // UDP and SCTP: the kernel ends the flows of a real server that is gone at their next packet (BEH 6.4).
    return key.protocol == abi::Protocol::kTcp && options.when_removed != WhenRemoved::kReset;
  }

  // Writes the differences; returns those the kernel's answers show to be other than remembered.
  Batch write(const Batch& pending, Outcome& outcome);
  void flush(std::vector<ServerCommand>& commands, std::vector<Part>& parts, Outcome& outcome, Batch& surprises);
  // Remembers what has become of one virtual server. True: the kernel did not hold what it was thought to.
  bool take(const Part& part, const std::vector<ServerCommand>& commands, const std::vector<int>& results,
            Outcome& outcome);
  bool is_excluded(const ServerKey& key) const { return options.excluded && options.excluded(key); }
  void read_again(const Batch& pending);
  // Removes what has drained of these virtual servers: a look at each that has some draining, then all removals together.
  void settle(const std::vector<ServerKey>& keys);
  void look_at_drains(const ServerKey& key, std::vector<ServerCommand>& commands);
  void remember(const ServerKey& key, RealChanges changes);

  ServerKernel& kernel;
  Options options;
  Now now;
  sdk::Logger log;
  Drains drains;
  ServerMemory memory;
  std::set<std::string> schedulers;  // the kernel took these
  std::set<std::string> missing;     // the kernel does not have these; for one put()
  std::set<ServerKey> lowered;       // have real servers that drain since this put()
  std::optional<ServerKey> last_looked;  // by find_damage()
  std::size_t next_idle_look = 0;        // by find_idle()
  bool refreshed = false;
};

}  // namespace sluice::ipvs
