// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The address that endpoints see of UDP clients.
#include <netinet/in.h>

#include <utility>

#include "plugins/userspace/relay/arrival.hpp"
#include "plugins/userspace/relay/udp_relay_state.hpp"
#include "plugins/userspace/relay/udp_socket.hpp"

namespace sluice::userspace {
namespace {

// Entries of UDP expire after 30 s without a packet, unless net.netfilter.nf_conntrack_udp_timeout is changed.
constexpr Nanoseconds kMayHaveExpired = 5'000'000'000;

SocketAddress client_of(const UdpClientKey& key) noexcept {
  const abi::Family family = key.family == AF_INET6 ? abi::Family::kIpv6 : abi::Family::kIpv4;
  return SocketAddress(family, key.client, ntohs(key.client_port));
}

}  // namespace

Listener::Client UdpRelay::State::how_shown(const Serving& serving, const UdpClientKey& key,
                                            UdpBatch::Slot datagram) const {
  if (client_sockets == nullptr) return {};
  const SocketAddress client = client_of(key);
  const SocketAddress local(serving.listener->family(), key.local, serving.port);
  return serving.listener->client(key.client,
                                  UdpArrival(client_sockets->conntrack(), client, local, in->interface(datagram)));
}

int UdpRelay::State::connect_socket(const EndpointPtr& endpoint, const UdpClientKey& key,
                                    const Listener::Client& shown_as, Client& client) noexcept {
  const SocketAddress& target = endpoint->target();
  const std::uint32_t mark = client.serving->listener->mark();
  // An endpoint that reaches itself through the Service must not see its own address.
  const bool keep = shown_as.kept && !(target.address() == key.client);
  if (!keep) {
    statistics.clients_hidden.add();
  } else if (!shown_as.possible && !shown_as.is_here) {
    statistics.clients_lost.add();
  } else {
    ClientSockets::Opened opened =
        client_sockets->connect_udp({target, mark, client_of(key), shown_as.is_here}, loop.now());
    if (opened.source == ClientSockets::Source::kClient) {
      client.socket = std::move(opened.socket);
      client.entry = opened.entry;
      client.active = loop.now();
      statistics.clients_kept.add();
      return opened.error;
    }
    (opened.source == ClientSockets::Source::kNode ? statistics.clients_hidden : statistics.clients_lost).add();
  }
  const int error = connect_udp(target, mark, client.socket);
  if (error == 0 && client_sockets != nullptr) client_sockets->remove_earlier_entry(client.socket, target);
  return error;
}

void UdpRelay::State::close(Client& client) noexcept {
  client.socket.reset();
  if (client.entry.family() == AF_UNSPEC) return;
  client_sockets->remove_entry(IPPROTO_UDP, std::exchange(client.entry, {}), client.endpoint()->target());
}

void UdpRelay::State::renew_entry(Client& client) noexcept {
  if (client.entry.family() == AF_UNSPEC) return;
  const Nanoseconds before = std::exchange(client.active, loop.now());
  if (loop.now() < before + kMayHaveExpired) return;
  if (client_sockets->renew_udp(client.entry, client.endpoint()->target(), client_of(client.key())) == 0) return;
  client.entry = {};
  statistics.clients_lost.add();
}

}  // namespace sluice::userspace
