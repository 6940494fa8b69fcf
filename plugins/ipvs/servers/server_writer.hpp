// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps virtual servers and their real servers: knows what the kernel holds since refresh(), writes only
// what is different, lets real servers drain (BEH 6.4). The apply thread only.
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
#include "plugins/ipvs/servers/server_kernel.hpp"
#include "plugins/ipvs/settings.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::ipvs {

// A virtual server as it is to be.
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
    std::string state_dir;  // where deadlines survive a restart, in wall-clock time; empty: they do not
    std::function<std::int64_t()> wall_clock;  // seconds since 1970; null: the system's
    std::function<bool(const ServerKey&)> excluded;  // there nothing that is in the way is taken over; null: nowhere
    std::function<void(const ServerKey&)> foreign;   // told of what is in the way there, as soon as it is met; null: nobody
  };

  // `kernel` outlives this.
  ServerWriter(ServerKernel& kernel, Options options, Now now, sdk::Logger log);
  ~ServerWriter();

  // One dump of virtual servers (two where some may be missing) and one for each of them of its real servers. Real servers
  // of weight 0 that nobody wants go on draining once their virtual server is put, with the deadline the state directory
  // has of them or a new one.
  // Throws sdk::Failure.
  void refresh();
  // Keys of what the kernel has, sorted. Ours and others'.
  std::vector<ServerKey> held() const;

  struct Outcome {
    // Service ports the kernel refused something of, by printed name, and why; the rest is in place.
    std::map<std::string, std::string> refused;
    std::set<ServerKey> missing;  // of those that were put: not in the kernel, or somebody else's
    std::set<ServerKey> foreign;  // of them: excluded, and another program has made one since refresh(); it is as it was
  };
  // Brings these virtual servers to what is wanted; attributes of one that is there are edited in place. A real server that is
  // wanted again while it drains is taken back with all its connections. What is as it should be costs nothing.
  // REQUIRES: refresh() since the last throw. Throws sdk::Failure when it is not known what the kernel has now.
  Outcome put(const std::vector<WantedServer>& wanted);
  // Virtual servers go with their real servers, without grace (BEH 6.4). What is not there is fine.
  void remove(const std::vector<ServerKey>& keys);
  // Weight 0 for all real servers of these, so that they end up empty: for a backend that retires.
  void quiesce(const std::vector<ServerKey>& keys);
  // Which of these nobody needs any more: they have no connections, or only such as have ended (is_alive()). One dump of
  // real servers each, of as many as fit into `kLook`, going round; what was not looked at is not among them. `visit` shows
  // single connections; it is asked only when there are few enough, and for 500 ms at most: what was not seen by then is
  // not idle. Sorted. Throws sdk::Failure.
  std::vector<ServerKey> find_idle(const std::vector<ServerKey>& keys, const VisitConnections& visit);

  // Removes real servers that have drained, or whose time is up. Called often: costs one dump for each virtual server that
  // has some draining, none otherwise. Throws sdk::Failure.
  void tick();
  std::size_t draining() const noexcept;

  // What is damaged of what was put, in a phrase; empty when all is as written. One dump of virtual servers (two where some
  // seem to be missing or changed), and as many of real servers as fit into `kLook` of time, going round, so that everything is
  // looked at again and again: tens of thousands each time; foreign virtual servers do not matter. Throws sdk::Failure.
  // No longer: with the rest DamageWatch takes after it, the next look is still due within 20 s.
  static constexpr std::chrono::milliseconds kLook{900};
  std::optional<std::string> find_damage();

  std::size_t servers() const noexcept;       // put and not removed
  std::size_t real_servers() const noexcept;  // of them, draining ones too
  std::uint64_t messages() const { return kernel_.messages(); }

 private:
  struct State;
  ServerKernel& kernel_;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::ipvs
