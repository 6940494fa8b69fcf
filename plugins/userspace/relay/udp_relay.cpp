// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/udp_relay.hpp"

#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "plugins/userspace/relay/udp_relay_state.hpp"
#include "plugins/userspace/relay/udp_socket.hpp"

namespace sluice::userspace {
namespace {

constexpr std::size_t kExpireAtOnce = 1024;  // per timer event
constexpr int kMaxDrainBatches = 64;         // bounds the drain if datagrams arrive faster than they are relayed

std::uint64_t client_hash_seed() noexcept {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) seed = EventLoop::clock();
  return seed;
}

}  // namespace

UdpRelay::State::State(EventLoop& given_loop, const RelaySettings& settings, std::size_t max_clients,
                       ThreadStatistics& given_statistics, unsigned given_thread, ClientSockets* given_client_sockets)
    : loop(given_loop),
      statistics(given_statistics),
      thread(given_thread),
      client_sockets(given_client_sockets),
      table(max_clients, static_cast<Nanoseconds>(settings.udp_timeout.count()) * kMillisecond, client_hash_seed()) {}

UdpRelay::State::~State() {
  flush();
  while (UdpClientTable::Entry* const entry = table.idle_longest()) drop(static_cast<Client&>(*entry));
  for (auto& [id, serving] : servings) {
    serving->socket.reset();
    loop.retire(std::move(serving));
  }
}

UdpRelay::UdpRelay(EventLoop& loop, const RelaySettings& settings, std::size_t max_clients,
                   ThreadStatistics& statistics, unsigned thread, ClientSockets* client_sockets)
    : state_(std::make_unique<State>(loop, settings, max_clients, statistics, thread, client_sockets)) {}

UdpRelay::~UdpRelay() = default;

int UdpRelay::serve(ServingId id, lib::Fd socket, ListenerPtr listener) {
  State& state = *state_;
  try {
    if (state.in == nullptr) state.in = std::make_unique<UdpBatch>();
    if (state.out == nullptr) state.out = std::make_unique<UdpBatch>();
    prepare_udp_service_socket(socket.get());
    SocketAddress name;
    socklen_t size = SocketAddress::capacity();
    if (getsockname(socket.get(), name.get(), &size) != 0) return errno;
    auto serving = std::make_unique<State::Serving>(state, id, std::move(socket), std::move(listener));
    serving->port = name.port();
    State::Serving* const place = serving.get();
    state.servings.emplace(id, std::move(serving));
    const int failure = state.loop.add(place->socket.get(), EPOLLIN, place);
    if (failure != 0) state.servings.erase(id);
    return failure;
  } catch (const std::bad_alloc&) {
    state.servings.erase(id);
    return ENOMEM;
  }
}

void UdpRelay::stop_reading(ServingId id) {
  const auto found = state_->servings.find(id);
  if (found == state_->servings.end() || std::exchange(found->second->reading_stopped, true)) return;
  state_->loop.remove(found->second->socket.get());
}

void UdpRelay::stop(ServingId id, bool drain_queue) {
  State& state = *state_;
  const auto found = state.servings.find(id);
  if (found == state.servings.end()) return;
  for (int i = 0; drain_queue && !found->second->reading_stopped && i < kMaxDrainBatches; ++i) {
    if (!state.requests(*found->second)) break;
  }
  state.flush();
  while (UdpClientTable::Entry* const entry = state.table.any_of(id)) state.drop(static_cast<State::Client&>(*entry));
  // Closing does not remove it from epoll if the service manager has a duplicate.
  state.loop.remove(found->second->socket.get());
  found->second->socket.reset();
  state.loop.retire(std::move(found->second));
  state.servings.erase(found);
}

void UdpRelay::endpoints_gone(std::span<const EndpointPtr> gone) {
  for (const EndpointPtr& endpoint : gone) {
    while (UdpClientTable::Entry* const entry = state_->table.any_of(endpoint.get())) {
      state_->drop(static_cast<State::Client&>(*entry));
    }
  }
}

void UdpRelay::State::fail(Client& client) noexcept {
  statistics.udp_errors.add();
  client.endpoint()->disconnected();
  for (Traffic* const traffic : traffic_of(client)) traffic->disconnected();
  close(client);
  client.serving->listener->balancer().dial_failed(client.endpoint(), loop.now());
}

void UdpRelay::State::drop(Client& client) noexcept {
  if (client.socket) {
    client.endpoint()->disconnected();
    for (Traffic* const traffic : traffic_of(client)) traffic->disconnected();
    close(client);
    if (!client.answered) client.serving->listener->balancer().dial_abandoned(client.endpoint());
  }
  table.erase(client);
  statistics.udp_clients.subtract();
  if (RelayedCount* const relayed = client.serving->listener->relayed())
    relayed->thread_counts(thread).flows.subtract();
  loop.retire(std::unique_ptr<Retired>(&client));
}

bool UdpRelay::State::evict() noexcept {
  UdpClientTable::Entry* const entry = table.idle_longest();
  if (entry == nullptr) return false;
  drop(static_cast<Client&>(*entry));
  statistics.udp_clients_evicted.add();
  return true;
}

void UdpRelay::State::expire() noexcept {
  for (std::size_t i = 0; i < kExpireAtOnce; ++i) {
    UdpClientTable::Entry* const entry = table.expired(loop.now());
    if (entry == nullptr) break;
    auto& client = static_cast<Client&>(*entry);
    // For endpoints that never reply (such as syslog), the absence of errors counts as success.
    if (client.socket && !client.answered && !client.serving->answers) {
      client.answered = true;
      client.serving->listener->balancer().dial_succeeded(client.endpoint());
    }
    drop(client);
    statistics.udp_clients_expired.add();
  }
  if (table.size() != 0) loop.arm(expiry, std::max(table.next_expiry(), loop.now() + kMillisecond));
}

}  // namespace sluice::userspace
