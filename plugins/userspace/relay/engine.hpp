// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The relays as the backend sees them: threads that take over listening sockets and
// carry what arrives to endpoints. One object serves both IP families when their
// settings are equal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plugins/userspace/balancer/endpoint.hpp"
#include "plugins/userspace/descriptor.hpp"
#include "plugins/userspace/relay/face.hpp"
#include "plugins/userspace/relay/statistics.hpp"
#include "plugins/userspace/settings.hpp"

namespace sluice::userspace {

using ServingId = std::uint64_t;

class Engine {
 public:
  // A condition of the node that stops or hampers the relays, and its end. Called from relay threads, at most once for
  // each change; must not block and must not call the engine.
  using Report = std::function<void(bool begins, const std::string& sentence)>;

  explicit Engine(const RelaySettings& settings);
  // Ends every connection, joins the threads.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The one other families of this process use, if its settings are equal; else a new one.
  static std::shared_ptr<Engine> shared(const RelaySettings& settings);

  const RelaySettings& settings() const noexcept;
  unsigned threads() const noexcept;
  // How many sockets of one SO_REUSEPORT group a UDP face is to bring.
  unsigned udp_sockets() const noexcept;

  // Any thread from here on.

  std::uint64_t add_report(Report report);
  void remove_report(std::uint64_t id);  // it is not being called any more when this returns

  // Takes over bound, non-blocking sockets: one that listens for TCP, udp_sockets() for UDP (bound, with
  // IP_PKTINFO/IPV6_RECVPKTINFO on). Serves from now on.
  ServingId serve(std::vector<Descriptor> sockets, FacePtr face);

  // The numbers of its descriptors, valid until stop(): for keeping duplicates of them.
  std::vector<int> descriptors(ServingId id) const;

  // Closes the sockets. UDP clients of them are dropped; what becomes of TCP clients:
  enum class Ending {
    kServiceGone,  // who has connected is taken in; of what is established the settings say what becomes
    kRetired,      // who has connected is taken in; what is established lives on; datagrams that wait are relayed
    kShared,       // somebody else has the same socket and takes in whoever comes; what is established lives on
  };
  // Returns when they are closed, so that the ports are free.
  void stop(std::span<const ServingId> ids, Ending ending);
  void stop(ServingId id) { stop({&id, 1}, Ending::kServiceGone); }

  // UDP: somebody else has the same sockets and reads them from now on. Replies to what was read before still go out,
  // until stop().
  void mute(std::span<const ServingId> ids);

  // Resets every TCP connection that is counted there, also of faces that were stopped long ago. Returns when it is
  // done. REQUIRES: what serves is stopped, or more would come
  void reset(const RelayedCount& counted);

  // These are in the list of `face` no more: UDP clients lose them at once, TCP connections as the settings say.
  void endpoints_gone(const FacePtr& face, std::vector<EndpointPtr> gone);

  // One for each thread; they live as long as the engine.
  const std::vector<std::unique_ptr<ThreadStatistics>>& statistics() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::userspace
