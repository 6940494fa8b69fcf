// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The state of UdpRelay for each listening socket and each client.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "plugins/userspace/relay/client_socket.hpp"
#include "plugins/userspace/relay/udp_batch.hpp"
#include "plugins/userspace/relay/udp_client_table.hpp"
#include "plugins/userspace/relay/udp_relay.hpp"

namespace sluice::userspace {

struct UdpRelay::State {
  // A listening socket. After stop() it exists until the end of the current batch of events.
  struct Serving final : EventHandler, Retired {
    Serving(State& given, ServingId number, lib::Fd given_socket, ListenerPtr given_listener) noexcept
        : relay(given), id(number), socket(std::move(given_socket)), listener(std::move(given_listener)) {}
    void on_events(std::uint32_t events) noexcept override;
    State& relay;
    const ServingId id;
    lib::Fd socket;
    std::uint16_t port = 0;  // of the socket
    const ListenerPtr listener;
    bool answers = false;  // an endpoint has replied at least once
    bool reading_stopped = false;
  };

  // A client. Has no socket after its endpoint failed: its next datagram then goes to another endpoint.
  struct Client final : UdpClientTable::Entry, EventHandler, Retired {
    explicit Client(Serving& given) noexcept : serving(&given) {}
    void on_events(std::uint32_t events) noexcept override;
    Serving* serving;
    lib::Fd socket;
    bool answered = false;  // success was reported to the balancer
    SocketAddress entry;    // local end of its conntrack entry; without family: there is none
    Nanoseconds active = 0;  // the last datagram, if there is an entry
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
        ThreadStatistics& given_statistics, unsigned given_thread, ClientSockets* given_client_sockets);
  ~State();

  // Relays datagrams from clients. Returns whether there may be more.
  bool requests(Serving& serving) noexcept;
  void relay(Serving& serving, const UdpClientKey& key, std::uint64_t hash,
             std::span<const UdpBatch::Slot> datagrams) noexcept;
  // Counts datagrams that no endpoint accepts.
  void refuse(Serving& serving, std::size_t datagrams) noexcept;
  // Of its listener and its endpoint.
  static std::array<Traffic*, 2> traffic_of(const Client& client) noexcept;
  // Sends datagrams to the client's endpoint. Returns how many were handled; fewer than all if the endpoint failed.
  std::size_t send(Client& client, std::span<const UdpBatch::Slot> datagrams) noexcept;
  // Null if there is no endpoint or no socket; then `datagrams` are counted as dropped.
  Client* open(Serving& serving, const UdpClientKey& key, std::vector<EndpointPtr>& tried,
               std::span<const UdpBatch::Slot> datagrams);
  // Throws std::bad_alloc.
  Listener::Client how_shown(const Serving& serving, const UdpClientKey& key, UdpBatch::Slot datagram) const;
  // Connects; if the node is out of ports or descriptors, evicts clients that are idle longest. 0 or an errno.
  // `shown_as`: how endpoints see the client.
  int connect(const EndpointPtr& endpoint, const UdpClientKey& key, const Listener::Client& shown_as,
              Client& client) noexcept;
  int connect_socket(const EndpointPtr& endpoint, const UdpClientKey& key, const Listener::Client& shown_as,
                     Client& client) noexcept;
  // Closes the socket of the client and removes its conntrack entry.
  void close(Client& client) noexcept;
  // Creates the conntrack entry of a client again if it may have expired.
  void renew_entry(Client& client) noexcept;
  bool evict() noexcept;

  // Relays datagrams from endpoints.
  void replies(Client& client, std::uint32_t events) noexcept;
  void flush() noexcept;
  void send_replies(Serving& serving, std::span<const UdpBatch::Slot> datagrams) noexcept;

  // Marks the endpoint of the client as failed.
  void fail(Client& client) noexcept;
  void drop(Client& client) noexcept;
  void expire() noexcept;

  EventLoop& loop;
  ThreadStatistics& statistics;
  const unsigned thread;
  ClientSockets* const client_sockets;
  UdpClientTable table;
  std::unordered_map<ServingId, std::unique_ptr<Serving>> servings;
  // Allocated with the first serving, since not every thread relays UDP.
  std::unique_ptr<UdpBatch> in;
  std::unique_ptr<UdpBatch> out;  // replies of the current batch of events, for all clients
  std::size_t waiting = 0;        // slots of `out` in use
  std::array<Serving*, UdpBatch::kSlots> waiting_for{};
  Expiry expiry{*this};
  Flush flush_timer{*this};
};

}  // namespace sluice::userspace
