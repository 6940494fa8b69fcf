// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps virtual servers and their real servers: knows what the kernel holds since refresh(), writes only differences,
// drains real servers (BEH 6.4). The apply thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/ipvs/servers/connection_table.hpp"
#include "plugins/ipvs/servers/server_drift.hpp"
#include "plugins/ipvs/servers/server_kernel.hpp"
#include "plugins/ipvs/settings.hpp"
#include "sluice/sdk/deadline.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::ipvs {

// The desired state of a virtual server.
struct WantedServer {
  VirtualServer server;
  RealServers real;   // null: none
  std::string owner;  // printed name of the service port
};

class ServerWriter {
 public:
  using Now = std::function<std::uint64_t()>;  // nanoseconds of a monotonic clock

  struct Options {
    abi::Family family{};
    WhenRemoved when_removed = WhenRemoved::kKeep;
    std::chrono::seconds drain{30};
    std::string state_dir;                     // keeps deadlines across restarts, in wall-clock time; empty: none
    std::function<std::int64_t()> wall_clock;  // seconds since 1970; null: the system's
    std::function<bool(const ServerKey&)> excluded;  // a foreign virtual server there is not adopted; null: nowhere
    std::function<void(const ServerKey&)> foreign;   // called for each foreign one found there; may be null
    // If it is cancelled, refresh() and put() throw sdk::Failure (kRetry) between two virtual servers. Outlives this.
    const sdk::Deadline* deadline = &sdk::Deadline::unlimited();
  };

  // `kernel` outlives this.
  ServerWriter(ServerKernel& kernel, Options options, Now now, sdk::Logger log);
  ~ServerWriter();

  // One dump of virtual servers (two if some may be missing), and one of the real servers of each. Unwanted real
  // servers of weight 0 go on draining once their virtual server is put, with the deadline from the state directory
  // or a new one. Throws sdk::Failure.
  void refresh();
  // Keys of all virtual servers in the kernel, ours and foreign ones. Sorted.
  std::vector<ServerKey> held() const;

  struct Outcome {
    // Service ports for which the kernel rejected something, by printed name, and the reason; the rest is in place.
    std::map<std::string, std::string> refused;
    std::set<ServerKey> missing;  // servers that were put, but are foreign or not in the kernel
    std::set<ServerKey> foreign;  // of these: in excluded ranges, created by another process since refresh(); unchanged
  };
  // Writes the difference to the desired state; attributes of existing virtual servers are edited in place. A
  // draining real server that is wanted again keeps its connections. REQUIRES: refresh() since the last exception.
  // Throws sdk::Failure if the kernel's state is unknown.
  Outcome put(const std::vector<WantedServer>& wanted);
  // Removes virtual servers with their real servers, without grace (BEH 6.4). Missing ones are ignored.
  void remove(const std::vector<ServerKey>& keys);
  // Sets weight 0 for all real servers, so that the backend can retire.
  void quiesce(const std::vector<ServerKey>& keys);
  // Virtual servers without connections, or only with such as have ended (is_alive()). Dumps real servers for at most
  // `kScanBudget`, continuing where the last call stopped; the others are not returned. `visit` lists single
  // connections; it is called only for a limited number of connections, for 500 ms at most. Sorted. Throws
  // sdk::Failure.
  std::vector<ServerKey> find_idle(const std::vector<ServerKey>& keys, const VisitConnections& visit);

  // Removes real servers that have drained or whose deadline has passed. Costs one dump per virtual server that has
  // draining ones. Throws sdk::Failure.
  void tick();
  std::size_t draining() const noexcept;

  // Drift since the last write, as a phrase; empty: none. One dump of virtual servers (two if some seem missing or
  // changed), and dumps of real servers for at most `kScanBudget`, continuing where the last call stopped. Foreign
  // virtual servers are ignored. Throws sdk::Failure.
  //
  // With the rest that DriftWatch takes after a scan, the next one is due within 20 s.
  static constexpr std::chrono::milliseconds kScanBudget{900};
  std::optional<std::string> find_drift();
  // All drift of the virtual servers that `wants` accepts, with a dump of the real servers of each. Changes nothing, so
  // find_drift() finds the same. Throws sdk::Failure.
  void list_drift(const std::function<bool(const ServerKey&)>& wants, const OnServerDrift& on_drift);

  std::size_t servers() const noexcept;       // put and not removed
  std::size_t real_servers() const noexcept;  // of these virtual servers, including draining ones
  std::uint64_t messages() const { return kernel_.messages(); }

 private:
  struct State;
  ServerKernel& kernel_;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::ipvs
