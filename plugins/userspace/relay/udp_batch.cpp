// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/udp_batch.hpp"

#include <netinet/in.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "plugins/userspace/relay/arrival.hpp"

namespace sluice::userspace {
namespace {

bool link_local(const in6_addr& address) noexcept { return IN6_IS_ADDR_LINKLOCAL(&address); }

}  // namespace

UdpBatch::UdpBatch() {
  // mmap(), so that only the pages that datagrams touch use memory.
  void* const memory =
      mmap(nullptr, kSlots * kStride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, kSlots * kStride, MADV_NOHUGEPAGE);
  memory_ = static_cast<std::byte*>(memory);
  for (std::size_t i = 0; i < kSlots; ++i) {
    vectors_[i].iov_base = data(i);
    vectors_[i].iov_len = kRoom;
    received_[i].msg_hdr.msg_iov = &vectors_[i];
    received_[i].msg_hdr.msg_iovlen = 1;
    sent_[i].msg_hdr.msg_iov = &sent_vectors_[i];
    sent_[i].msg_hdr.msg_iovlen = 1;
  }
}

UdpBatch::~UdpBatch() { munmap(memory_, kSlots * kStride); }

int UdpBatch::receive(int fd, std::size_t first, std::size_t count) noexcept {
  return receive(fd, first, count, false);
}

int UdpBatch::receive_from(int fd, std::size_t first, std::size_t count) noexcept {
  return receive(fd, first, count, true);
}

int UdpBatch::receive(int fd, std::size_t first, std::size_t count, bool from) noexcept {
  for (std::size_t i = first; i < first + count; ++i) {
    msghdr& header = received_[i].msg_hdr;
    header.msg_name = from ? names_[i].get() : nullptr;
    header.msg_namelen = from ? SocketAddress::capacity() : 0;
    header.msg_control = from ? controls_[i].bytes.data() : nullptr;
    header.msg_controllen = from ? controls_[i].bytes.size() : 0;
  }
  int got = 0;
  do {
    got = recvmmsg(fd, &received_[first], static_cast<unsigned>(count), MSG_DONTWAIT, nullptr);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return -errno;
  for (std::size_t i = first; i < first + static_cast<std::size_t>(got); ++i) lengths_[i] = received_[i].msg_len;
  return got;
}

int UdpBatch::send(int fd, std::span<const Slot> slots) noexcept { return send(fd, slots, false); }

int UdpBatch::send_to(int fd, std::span<const Slot> slots) noexcept { return send(fd, slots, true); }

int UdpBatch::send(int fd, std::span<const Slot> slots, bool to) noexcept {
  std::size_t count = 0;
  for (const Slot slot : slots) {
    sent_vectors_[count].iov_base = data(slot);
    sent_vectors_[count].iov_len = lengths_[slot];
    msghdr& header = sent_[count++].msg_hdr;
    header.msg_name = to ? names_[slot].get() : nullptr;
    header.msg_namelen = to ? names_[slot].size() : 0;
    header.msg_control = to && control_lengths_[slot] != 0 ? controls_[slot].bytes.data() : nullptr;
    header.msg_controllen = to ? control_lengths_[slot] : 0;
  }
  int done = 0;
  do {
    done = sendmmsg(fd, sent_.data(), static_cast<unsigned>(count), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (done < 0 && errno == EINTR);
  return done < 0 ? -errno : done;
}

UdpClientKey UdpBatch::key(std::size_t slot) const noexcept {
  UdpClientKey key;
  const SocketAddress& name = names_[slot];
  key.client = name.address();
  key.client_port = htons(name.port());
  key.family = static_cast<std::uint16_t>(name.family());
  if (name.family() == AF_INET6) {
    sockaddr_in6 full;
    std::memcpy(&full, name.get(), sizeof(full));
    key.client_scope = full.sin6_scope_id;
  }
  msghdr header = received_[slot].msg_hdr;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
      in_pktinfo info;
      std::memcpy(&info, CMSG_DATA(part), sizeof(info));
      std::memcpy(key.local.bytes, &info.ipi_spec_dst, sizeof(info.ipi_spec_dst));
    } else if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info;
      std::memcpy(&info, CMSG_DATA(part), sizeof(info));
      std::memcpy(key.local.bytes, &info.ipi6_addr, sizeof(info.ipi6_addr));
      // For other addresses the kernel chooses the route of the reply.
      if (link_local(info.ipi6_addr)) key.local_scope = info.ipi6_ifindex;
    }
  }
  return key;
}

unsigned UdpBatch::interface(std::size_t slot) const noexcept { return input_interface(received_[slot].msg_hdr); }

void UdpBatch::address(std::size_t slot, const UdpClientKey& key) noexcept {
  Control& control = controls_[slot];
  auto* const part = reinterpret_cast<cmsghdr*>(control.bytes.data());
  if (key.family == AF_INET6) {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_port = key.client_port;
    name.sin6_scope_id = key.client_scope;
    std::memcpy(&name.sin6_addr, key.client.bytes, sizeof(name.sin6_addr));
    std::memcpy(names_[slot].get(), &name, sizeof(name));
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, key.local.bytes, sizeof(info.ipi6_addr));
    info.ipi6_ifindex = key.local_scope;
    part->cmsg_level = IPPROTO_IPV6;
    part->cmsg_type = IPV6_PKTINFO;
    part->cmsg_len = CMSG_LEN(sizeof(info));
    std::memcpy(CMSG_DATA(part), &info, sizeof(info));
    control_lengths_[slot] = CMSG_SPACE(sizeof(info));
  } else {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = key.client_port;
    std::memcpy(&name.sin_addr, key.client.bytes, sizeof(name.sin_addr));
    std::memcpy(names_[slot].get(), &name, sizeof(name));
    in_pktinfo info{};
    std::memcpy(&info.ipi_spec_dst, key.local.bytes, sizeof(info.ipi_spec_dst));
    part->cmsg_level = IPPROTO_IP;
    part->cmsg_type = IP_PKTINFO;
    part->cmsg_len = CMSG_LEN(sizeof(info));
    std::memcpy(CMSG_DATA(part), &info, sizeof(info));
    control_lengths_[slot] = CMSG_SPACE(sizeof(info));
  }
}

}  // namespace sluice::userspace
