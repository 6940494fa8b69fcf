// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/foreign_nat.hpp"

#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "plugins/common/address_hash.hpp"
#include "plugins/userspace/relay/endpoint_socket.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {
namespace {

constexpr Nanoseconds kLifetime = 10'000'000'000;
constexpr std::size_t kMostKnown = 65536;
constexpr std::uint8_t kHops = 64;

// A packet under construction.
class Packet {
 public:
  std::byte* add(const void* part, std::size_t size) noexcept {
    std::byte* const place = bytes_.data() + size_;
    std::memcpy(place, part, size);
    size_ += size;
    return place;
  }
  const std::byte* data() const noexcept { return bytes_.data(); }
  std::size_t size() const noexcept { return size_; }

 private:
  std::array<std::byte, sizeof(ip6_hdr) + sizeof(tcphdr)> bytes_{};
  std::size_t size_ = 0;
};

std::uint32_t sum(const void* data, std::size_t size) noexcept {
  const auto* const bytes = static_cast<const unsigned char*>(data);
  std::uint32_t total = 0;
  for (std::size_t i = 0; i + 1 < size; i += 2) total += static_cast<std::uint32_t>(bytes[i] << 8 | bytes[i + 1]);
  return total;
}

// A checksum in network byte order that is certainly wrong, and not 0: with 0, UDP over IPv4 is not checked.
std::uint16_t wrong_checksum(const RelayFlow& flow, const void* segment, std::size_t size) noexcept {
  const abi::Address from = flow.source.address();
  const abi::Address to = flow.destination.address();
  std::uint32_t total = sum(from.bytes, sizeof(from.bytes)) + sum(to.bytes, sizeof(to.bytes)) + flow.protocol +
                        static_cast<std::uint32_t>(size) + sum(segment, size);
  while ((total >> 16) != 0) total = (total & 0xffff) + (total >> 16);
  const auto right = static_cast<std::uint16_t>(~total);
  const auto wrong = static_cast<std::uint16_t>(right ^ 0x5555);
  return htons(wrong != 0 ? wrong : std::uint16_t{1});
}

void add_segment(const RelayFlow& flow, Packet& packet) noexcept {
  if (flow.protocol == IPPROTO_TCP) {
    tcphdr header{};
    header.th_sport = htons(flow.source.port());
    header.th_dport = htons(flow.destination.port());
    header.th_off = sizeof(header) / 4;
    header.th_flags = TH_SYN;
    header.th_win = htons(1024);
    header.th_sum = wrong_checksum(flow, &header, sizeof(header));
    packet.add(&header, sizeof(header));
  } else {
    udphdr header{};
    header.uh_sport = htons(flow.source.port());
    header.uh_dport = htons(flow.destination.port());
    header.uh_ulen = htons(sizeof(header));
    header.uh_sum = wrong_checksum(flow, &header, sizeof(header));
    packet.add(&header, sizeof(header));
  }
}

Packet packet_of(const RelayFlow& flow) noexcept {
  Packet packet;
  const abi::Address from = flow.source.address();
  const abi::Address to = flow.destination.address();
  const std::size_t segment = flow.protocol == IPPROTO_TCP ? sizeof(tcphdr) : sizeof(udphdr);
  if (flow.destination.family() == AF_INET6) {
    ip6_hdr header{};
    header.ip6_vfc = 6 << 4;
    header.ip6_plen = htons(static_cast<std::uint16_t>(segment));
    header.ip6_nxt = flow.protocol;
    header.ip6_hlim = kHops;
    std::memcpy(&header.ip6_src, from.bytes, sizeof(header.ip6_src));
    std::memcpy(&header.ip6_dst, to.bytes, sizeof(header.ip6_dst));
    packet.add(&header, sizeof(header));
  } else {
    ip header{};  // the kernel fills in length, identification and checksum
    header.ip_v = 4;
    header.ip_hl = sizeof(header) / 4;
    header.ip_ttl = kHops;
    header.ip_p = flow.protocol;
    std::memcpy(&header.ip_src, from.bytes, sizeof(header.ip_src));
    std::memcpy(&header.ip_dst, to.bytes, sizeof(header.ip_dst));
    packet.add(&header, sizeof(header));
  }
  add_segment(flow, packet);
  return packet;
}

// Raw sockets use the port as the number of the protocol.
SocketAddress without_port(const SocketAddress& address) noexcept {
  const abi::Family family = address.family() == AF_INET6 ? abi::Family::kIpv6 : abi::Family::kIpv4;
  return SocketAddress(family, address.address(), 0);
}

}  // namespace

int open_raw_packet_socket(int family, std::uint32_t mark, lib::Fd& out) noexcept {
  lib::Fd made(::socket(family, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_RAW));
  if (!made) return errno;
  if (mark != 0) static_cast<void>(set_mark(made.get(), mark));
  out = std::move(made);
  return 0;
}

int send_invalid_packet(int raw_socket, const RelayFlow& flow) noexcept {
  const Packet packet = packet_of(flow);
  const SocketAddress to = without_port(flow.destination);
  const ssize_t sent =
      sendto(raw_socket, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL, to.get(), to.size());
  return sent >= 0 ? 0 : errno;
}

std::size_t ForeignNat::Hash::operator()(const Pair& pair) const noexcept {
  const std::hash<abi::Address> hash;
  return (hash(pair.client) * 31 + hash(pair.endpoint)) * 31 + pair.protocol;
}

bool ForeignNat::masquerades(const RelayFlow& flow, std::uint32_t mark, Conntrack& conntrack,
                             Nanoseconds now) noexcept {
  const Pair pair{flow.source.address(), flow.destination.address(), flow.protocol};
  const auto known = known_.find(pair);
  if (known != known_.end() && now < known->second.until) return known->second.masquerades;
  const bool found = find_out(flow, mark, conntrack);
  try {
    if (known_.size() >= kMostKnown) known_.clear();
    known_[pair] = {found, now + kLifetime};
  } catch (const std::bad_alloc&) {
    // The next connection finds it out again.
  }
  return found;
}

bool ForeignNat::find_out(const RelayFlow& flow, std::uint32_t mark, Conntrack& conntrack) noexcept {
  ConntrackEntry entry;
  // A connection of the client itself has the answer, and a packet would disturb it.
  if (conntrack.find(flow, entry) != 0) {
    lib::Fd& socket = flow.destination.family() == AF_INET6 ? ipv6_ : ipv4_;
    if (!socket && open_raw_packet_socket(flow.destination.family(), mark, socket) != 0) return false;
    if (mark != 0) static_cast<void>(set_mark(socket.get(), mark));
    if (send_invalid_packet(socket.get(), flow) != 0) return false;
    if (conntrack.find(flow, entry) != 0) return false;
    conntrack.remove(flow);
  }
  // The kernel finds an entry by either direction. One of the endpoint, such as of an answer that came after the relay's
  // entry was gone, does not say what happens to the client.
  if (!(entry.source.address() == flow.source.address())) return false;
  return !(entry.reply_destination.address() == flow.source.address());
}

}  // namespace sluice::userspace
