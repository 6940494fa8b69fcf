// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/proxy_protocol.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "plugins/userspace/relay/arrival.hpp"

namespace sluice::userspace {
namespace {

constexpr char kSignature[12] = {'\r', '\n', '\r', '\n', '\0', '\r', '\n', 'Q', 'U', 'I', 'T', '\n'};
constexpr char kVersionProxy = 0x21;
constexpr char kVersionLocal = 0x20;
constexpr char kTcp4 = 0x11;
constexpr char kTcp6 = 0x21;

class Writer {
 public:
  explicit Writer(ProxyHeader& header) noexcept : header_(header) {}
  void bytes(const void* data, std::size_t size) noexcept {
    std::memcpy(header_.bytes.data() + header_.size, data, size);
    header_.size += size;
  }
  void byte(char value) noexcept { bytes(&value, 1); }
  void number(std::size_t value) noexcept {
    byte(static_cast<char>(value >> 8U));
    byte(static_cast<char>(value & 0xffU));
  }

 private:
  ProxyHeader& header_;
};

ProxyHeader nameless() noexcept {
  ProxyHeader header;
  Writer out(header);
  out.bytes(kSignature, sizeof(kSignature));
  out.byte(kVersionLocal);
  out.byte(0);
  out.number(0);
  return header;
}

}  // namespace

ProxyHeader make_proxy_header(const SocketAddress& client, const SocketAddress& destination) noexcept {
  const bool six = client.family() == AF_INET6;
  const std::size_t length = six ? 16 : 4;
  ProxyHeader header;
  Writer out(header);
  out.bytes(kSignature, sizeof(kSignature));
  out.byte(kVersionProxy);
  out.byte(six ? kTcp6 : kTcp4);
  out.number(2 * length + 4);
  out.bytes(client.address().bytes, length);
  out.bytes(destination.address().bytes, length);
  out.number(client.port());
  out.number(destination.port());
  return header;
}

ProxyHeader proxy_header_of(int accepted) noexcept {
  SocketAddress client;
  SocketAddress destination;
  socklen_t size = SocketAddress::capacity();
  if (getpeername(accepted, client.get(), &size) != 0) return nameless();
  if (!original_destination(accepted, client.family(), destination)) {
    size = SocketAddress::capacity();
    if (getsockname(accepted, destination.get(), &size) != 0) return nameless();
  }
  return make_proxy_header(client, destination);
}

}  // namespace sluice::userspace
