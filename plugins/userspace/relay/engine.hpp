// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The relay threads: they own listening sockets and relay connections and datagrams to endpoints.
// One object serves both IP families if their settings are equal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/fd.hpp"
#include "plugins/userspace/balancer/endpoint.hpp"
#include "plugins/userspace/relay/listener.hpp"
#include "plugins/userspace/relay/statistics.hpp"
#include "plugins/userspace/settings.hpp"

namespace sluice::userspace {

using ServingId = std::uint64_t;

class Engine {
 public:
  // Reports the begin and end of a shortage that hampers the relays. Called from relay threads, at most once per
  // change; must not block and must not call the engine.
  using Report = std::function<void(bool begins, const std::string& sentence)>;

  explicit Engine(const RelaySettings& settings);
  // Joins the threads. Established connections continue in a process of their own if continue_at_end() was called;
  // otherwise they are reset.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The engine of the other family of this process if its settings are equal; otherwise a new one.
  static std::shared_ptr<Engine> shared(const RelaySettings& settings);

  const RelaySettings& settings() const noexcept;
  unsigned threads() const noexcept;
  // The number of sockets in the SO_REUSEPORT group of a UDP listener.
  unsigned udp_sockets() const noexcept;

  // The following may be called from any thread.

  std::uint64_t add_report(Report report);
  void remove_report(std::uint64_t id);  // no call is in progress when this returns

  // Takes ownership of non-blocking sockets and starts serving them: one listening socket for TCP, udp_sockets() bound
  // sockets with IP_PKTINFO or IPV6_RECVPKTINFO for UDP.
  ServingId serve(std::vector<lib::Fd> sockets, ListenerPtr listener);

  // Its descriptors, valid until stop(): for keeping duplicates of them.
  std::vector<int> descriptors(ServingId id) const;

  // How stop() treats clients. UDP clients are always dropped.
  enum class Ending {
    kServiceGone,  // accept queued connections; treat established ones as the settings say
    kRetired,      // accept queued connections and relay queued datagrams; established connections continue
    kShared,       // another process or backend accepts from the same socket; established connections continue
  };
  // Closes the sockets. When it returns the ports are free.
  void stop(std::span<const ServingId> ids, Ending ending);
  void stop(ServingId id) { stop({&id, 1}, Ending::kServiceGone); }

  // UDP: another backend reads the same sockets from now on. Replies to earlier datagrams are sent until stop().
  void stop_reading(std::span<const ServingId> ids);

  // The connections that remain at the end of the engine continue for RelaySettings::stop_drain.
  void continue_at_end();

  // Resets every TCP connection counted in `counted`, including those of stopped listeners. REQUIRES: its listeners are
  // stopped
  void reset(const RelayedCount& counted);

  // These endpoints were removed from `listener`: their UDP clients are dropped now, TCP connections as the settings
  // say.
  void endpoints_gone(const ListenerPtr& listener, std::vector<EndpointPtr> gone);

  // One per thread; valid as long as the engine.
  const std::vector<std::unique_ptr<ThreadStatistics>>& statistics() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::userspace
