// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Relays datagrams from clients to endpoints, and back.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "plugins/userspace/relay/udp_relay_state.hpp"
#include "plugins/userspace/relay/udp_socket.hpp"

namespace sluice::userspace {
namespace {

// Batches per event, before the next descriptor has its turn. More for replies than for requests, so that replies are
// not lost in full buffers while more requests are read.
constexpr int kRequestBatches = 2;
constexpr int kReplyBatches = 8;
constexpr std::size_t kEndpointsTried = 4;  // for one datagram, as with the default dial timeouts of TCP
constexpr int kEvictions = 2;               // rounds for one client, since other threads may take what is free first

using Slots = std::array<UdpBatch::Slot, UdpBatch::kSlots>;

}  // namespace

void UdpRelay::State::Serving::on_events(std::uint32_t events) noexcept {
  if (!socket || reading_stopped) return;
  if ((events & EPOLLERR) != 0) take_udp_error(socket.get());  // only clears the error
  relay.requests(*this);
}

void UdpRelay::State::Client::on_events(std::uint32_t events) noexcept {
  if (socket) serving->relay.replies(*this, events);
}

bool UdpRelay::State::requests(Serving& serving) noexcept {
  for (int batch = 0; batch < kRequestBatches; ++batch) {
    const int got = in->receive_from(serving.socket.get(), 0, UdpBatch::kSlots);
    if (got <= 0) return false;
    const auto count = static_cast<std::size_t>(got);
    if (RelayedCount* const relayed = serving.listener->relayed()) relayed->thread_counts(thread).datagrams.add(count);
    std::array<UdpClientKey, UdpBatch::kSlots> keys;
    std::array<std::uint64_t, UdpBatch::kSlots> hashes;
    std::array<bool, UdpBatch::kSlots> taken;
    for (std::size_t i = 0; i < count; ++i) {
      keys[i] = in->key(i);
      keys[i].owner = serving.id;
      hashes[i] = table.hash(keys[i]);
      taken[i] = in->cut(i);
      if (taken[i]) statistics.udp_errors.add();
    }
    // Group the datagrams by client; the order between clients does not matter.
    for (std::size_t i = 0; i < count; ++i) {
      if (taken[i]) continue;
      Slots slots;
      std::size_t datagrams = 0;
      for (std::size_t j = i; j < count; ++j) {
        if (taken[j] || hashes[j] != hashes[i] || !(keys[j] == keys[i])) continue;
        taken[j] = true;
        slots[datagrams++] = static_cast<UdpBatch::Slot>(j);
      }
      relay(serving, keys[i], hashes[i], std::span(slots).first(datagrams));
    }
    if (count < UdpBatch::kSlots) return false;
  }
  return true;
}

void UdpRelay::State::refuse(Serving& serving, std::size_t datagrams) noexcept {
  statistics.udp_dropped_no_endpoint.add(datagrams);
  Traffic::add(serving.listener->traffic().refused, datagrams);
}

std::array<Traffic*, 2> UdpRelay::State::traffic_of(const Client& client) noexcept {
  return {&client.serving->listener->traffic(), &client.endpoint()->traffic()};
}

void UdpRelay::State::relay(Serving& serving, const UdpClientKey& key, std::uint64_t hash,
                            std::span<const UdpBatch::Slot> datagrams) noexcept {
  try {
    std::vector<EndpointPtr> tried;
    auto* client = static_cast<Client*>(table.find(key, hash));
    while (tried.size() <= kEndpointsTried) {
      if (client != nullptr && !client->socket) {
        tried.push_back(client->endpoint());
        drop(*client);
        client = nullptr;
      }
      if (client == nullptr) client = open(serving, key, tried, datagrams);
      if (client == nullptr) return;
      renew_entry(*client);
      datagrams = datagrams.subspan(send(*client, datagrams));
      table.renew(*client, loop.now());
      if (datagrams.empty()) return;
    }
    refuse(serving, datagrams.size());  // no endpoint accepts datagrams
  } catch (const std::bad_alloc&) {
    statistics.udp_dropped_full.add(datagrams.size());
  }
}

std::size_t UdpRelay::State::send(Client& client, std::span<const UdpBatch::Slot> datagrams) noexcept {
  std::size_t dealt = 0;
  bool again = true;  // the error may be a pending one from an earlier datagram
  while (dealt < datagrams.size()) {
    const int result = in->send(client.socket.get(), datagrams.subspan(dealt));
    if (result > 0) {
      const auto sent = static_cast<std::size_t>(result);
      statistics.udp_to_endpoint.add(sent);
      std::uint64_t bytes = 0;
      for (std::size_t i = dealt; i < dealt + sent; ++i) bytes += in->length(datagrams[i]);
      statistics.udp_bytes_to_endpoint.add(bytes);
      for (Traffic* const traffic : traffic_of(client)) {
        Traffic::add(traffic->packets, sent);
        Traffic::add(traffic->bytes, bytes);
      }
      dealt += sent;
      again = true;
      // sendmmsg() does not return the error that stopped it, and the next call does not either.
      if (dealt == datagrams.size() || take_udp_error(client.socket.get()) == 0) continue;
      fail(client);
      return dealt;
    }
    switch (udp_fault(-result)) {
      case UdpFault::kEndpoint:
        fail(client);
        return dealt;
      case UdpFault::kBuffers:
      case UdpFault::kNode:
        statistics.udp_dropped_full.add(datagrams.size() - dealt);
        return datagrams.size();
      case UdpFault::kDatagram:
        if (!std::exchange(again, false)) {
          statistics.udp_errors.add();
          ++dealt;
          again = true;
        }
        break;
    }
  }
  return dealt;
}

UdpRelay::State::Client* UdpRelay::State::open(Serving& serving, const UdpClientKey& key,
                                               std::vector<EndpointPtr>& tried,
                                               std::span<const UdpBatch::Slot> datagrams) {
  auto client = std::make_unique<Client>(serving);
  const Listener::Client shown = how_shown(serving, key, datagrams.front());
  for (std::size_t attempt = 0; attempt < kEndpointsTried; ++attempt) {
    EndpointPtr endpoint = serving.listener->balancer().next(key.client, loop.now(), tried);
    if (endpoint == nullptr) {
      refuse(serving, datagrams.size());
      return nullptr;
    }
    while (table.full()) evict();
    const int failure = connect(endpoint, key, shown, *client);
    if (failure == 0) {
      Endpoint& target = *endpoint;
      table.insert(*client, key, std::move(endpoint), loop.now());
      target.connected();
      for (Traffic* const traffic : traffic_of(*client)) traffic->connected();
      statistics.udp_clients.add();
      statistics.udp_clients_opened.add();
      if (RelayedCount* const relayed = serving.listener->relayed()) relayed->thread_counts(thread).flows.add();
      if (!expiry.armed()) loop.arm(expiry, table.next_expiry());
      return client.release();
    }
    if (connect_fault(failure) == UdpFault::kNode) {
      serving.listener->balancer().dial_abandoned(endpoint);
      statistics.udp_dropped_full.add(datagrams.size());
      return nullptr;
    }
    statistics.udp_errors.add();
    serving.listener->balancer().dial_failed(endpoint, loop.now());
    tried.push_back(std::move(endpoint));
  }
  refuse(serving, datagrams.size());
  return nullptr;
}

int UdpRelay::State::connect(const EndpointPtr& endpoint, const UdpClientKey& key, const Listener::Client& shown_as,
                             Client& client) noexcept {
  for (int evictions = 0;; ++evictions) {
    int failure = connect_socket(endpoint, key, shown_as, client);
    if (failure == 0) failure = loop.add(client.socket.get(), EPOLLIN, &client);
    if (failure == 0) return 0;
    client.socket.reset();
    if (client.entry.family() != AF_UNSPEC) {
      client_sockets->remove_entry(IPPROTO_UDP, std::exchange(client.entry, {}), endpoint->target());
    }
    if (connect_fault(failure) != UdpFault::kNode || evictions == kEvictions) return failure;
    // Several clients at once: when no port is free the kernel scans all of them, which takes a millisecond.
    table.lower_limit();
    do {
      if (!evict()) return failure;
    } while (table.full());
  }
}

void UdpRelay::State::replies(Client& client, std::uint32_t events) noexcept {
  int failure = (events & EPOLLERR) != 0 ? take_udp_error(client.socket.get()) : 0;
  for (int batch = 0; (events & EPOLLIN) != 0 && batch < kReplyBatches; ++batch) {
    if (waiting == UdpBatch::kSlots) flush();
    const std::size_t room = UdpBatch::kSlots - waiting;
    const int got = out->receive(client.socket.get(), waiting, room);
    if (got < 0 && -got != EAGAIN && -got != EMSGSIZE) failure = -got;
    if (got <= 0) break;
    std::uint64_t bytes = 0;
    for (int i = 0; i < got; ++i) {
      bytes += out->length(waiting);
      out->address(waiting, client.key());
      waiting_for[waiting++] = client.serving;
    }
    for (Traffic* const traffic : traffic_of(client)) {
      Traffic::add(traffic->reply_packets, static_cast<std::uint64_t>(got));
      Traffic::add(traffic->reply_bytes, bytes);
    }
    table.renew(client, loop.now());
    if (RelayedCount* const relayed = client.serving->listener->relayed()) {
      relayed->thread_counts(thread).datagrams.add(static_cast<std::uint64_t>(got));
    }
    client.active = loop.now();
    if (!std::exchange(client.answered, true)) {
      client.serving->answers = true;
      client.serving->listener->balancer().dial_succeeded(client.endpoint());
    }
    if (static_cast<std::size_t>(got) < room) break;
  }
  if (failure != 0) fail(client);
  if (waiting != 0 && !flush_timer.armed()) loop.arm(flush_timer, loop.now());
}

void UdpRelay::State::flush() noexcept {
  const std::size_t count = std::exchange(waiting, 0);
  for (std::size_t i = 0; i < count; ++i) {
    Serving* const serving = waiting_for[i];
    if (serving == nullptr) continue;
    Slots slots;
    std::size_t datagrams = 0;
    for (std::size_t j = i; j < count; ++j) {
      if (waiting_for[j] != serving) continue;
      waiting_for[j] = nullptr;
      slots[datagrams++] = static_cast<UdpBatch::Slot>(j);
    }
    send_replies(*serving, std::span(slots).first(datagrams));
  }
}

void UdpRelay::State::send_replies(Serving& serving, std::span<const UdpBatch::Slot> datagrams) noexcept {
  while (!datagrams.empty()) {
    const int result = out->send_to(serving.socket.get(), datagrams);
    const std::size_t sent = result > 0 ? static_cast<std::size_t>(result) : 0;
    statistics.udp_to_client.add(sent);
    for (const UdpBatch::Slot slot : datagrams.first(sent)) statistics.udp_bytes_to_client.add(out->length(slot));
    datagrams = datagrams.subspan(sent);
    if (result > 0) continue;
    if (udp_fault(-result) == UdpFault::kBuffers) {
      statistics.udp_dropped_full.add(datagrams.size());
      return;
    }
    // The error concerns only the first datagram, whose client is unreachable: skip it.
    statistics.udp_errors.add();
    datagrams = datagrams.subspan(1);
  }
}

}  // namespace sluice::userspace
