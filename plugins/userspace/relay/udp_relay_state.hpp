// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Inside of UdpRelay: what it holds for each listening place and for each client.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "plugins/userspace/relay/udp_batch.hpp"
#include "plugins/userspace/relay/udp_client_table.hpp"
#include "plugins/userspace/relay/udp_relay.hpp"

namespace sluice::userspace {

struct UdpRelay::State {
  // A listening place. Survives stop() until the events in hand are over.
  struct Serving final : EventHandler, Retired {
    Serving(State& given, ServingId number, Descriptor given_socket, FacePtr given_face) noexcept
        : relay(given), id(number), socket(std::move(given_socket)), face(std::move(given_face)) {}
    void on_events(std::uint32_t events) noexcept override;
    State& relay;
    const ServingId id;
    Descriptor socket;
    const FacePtr face;
    bool answers = false;  // an endpoint has replied, ever
    bool muted = false;
  };

  // A client. Without a socket when its endpoint failed: who sends next, to another one, remembers that.
  struct Client final : UdpClientTable::Entry, EventHandler, Retired {
    explicit Client(Serving& given) noexcept : serving(&given) {}
    void on_events(std::uint32_t events) noexcept override;
    Serving* serving;
    Descriptor socket;
    bool answered = false;  // the balancer has been told of success
  };

  struct Expiry final : Timer {
    explicit Expiry(State& given) noexcept : relay(given) {}
    void on_timer() noexcept override { relay.expire(); }
    State& relay;
  };
  struct Flush final : Timer {
    explicit Flush(State& given) noexcept : relay(given) {}
    void on_timer() noexcept override { relay.flush(); }
    State& relay;
  };

  State(EventLoop& given_loop, const RelaySettings& settings, std::size_t max_clients,
        ThreadStatistics& given_statistics, unsigned given_thread);
  ~State();

  // From clients. True: there may be more.
  bool requests(Serving& serving) noexcept;
  void relay(Serving& serving, const UdpClientKey& key, std::uint64_t hash,
             std::span<const UdpBatch::Slot> datagrams) noexcept;
  // Sends what can be sent to the client's endpoint; how many of them are dealt with. Fewer than all: it has failed.
  std::size_t send(Client& client, std::span<const UdpBatch::Slot> datagrams) noexcept;
  // Null when there is no endpoint, or nothing to connect with; `datagrams` of them are counted as dropped.
  Client* open(Serving& serving, const UdpClientKey& key, std::vector<EndpointPtr>& tried, std::size_t datagrams);
  // Connects, and takes the place of the client that is idle longest where the node has no more. 0 or an errno.
  int connect(const EndpointPtr& endpoint, std::uint32_t mark, Client& client) noexcept;
  bool evict() noexcept;

  // From endpoints.
  void replies(Client& client, std::uint32_t events) noexcept;
  void flush() noexcept;
  void send_replies(Serving& serving, std::span<const UdpBatch::Slot> datagrams) noexcept;

  // Its endpoint does not answer.
  void fail(Client& client) noexcept;
  void drop(Client& client) noexcept;
  void expire() noexcept;

  EventLoop& loop;
  ThreadStatistics& statistics;
  const unsigned thread;
  UdpClientTable table;
  std::unordered_map<ServingId, std::unique_ptr<Serving>> servings;
  // Made with the first serving: most threads of most nodes have UDP to relay, but not all.
  std::unique_ptr<UdpBatch> in;
  std::unique_ptr<UdpBatch> out;  // replies of one round of the loop, whoever they are for
  std::size_t waiting = 0;        // slots of `out` in use
  std::array<Serving*, UdpBatch::kSlots> waiting_for{};
  Expiry expiry{*this};
  Flush flush_timer{*this};
};

}  // namespace sluice::userspace
