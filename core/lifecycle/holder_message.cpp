// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/holder_message.hpp"

#include <string.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace sluice::lifecycle::holding {
namespace {

struct Header {
  std::uint32_t size;
  std::uint16_t version;
  std::uint16_t type;
  std::uint32_t number;
};
static_assert(sizeof(Header) == 12);

// The first descriptor of the message; all others are closed.
lib::Fd take_descriptor(msghdr& message) {
  lib::Fd first;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      lib::Fd one(fd);
      if (!first.valid()) first = std::move(one);
    }
  }
  return first;
}

}  // namespace

std::string encode(const Message& message) {
  Header header{static_cast<std::uint32_t>(sizeof(Header) + message.text.size()), message.version,
                static_cast<std::uint16_t>(message.type), message.number};
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  return out.append(message.text);
}

std::optional<Message> decode(std::string_view bytes) {
  Header header{};
  if (bytes.size() < sizeof header) return std::nullopt;
  memcpy(&header, bytes.data(), sizeof header);
  if (header.size < sizeof header || header.size > bytes.size()) return std::nullopt;
  Message out;
  out.type = Type{header.type};
  out.version = header.version;
  out.number = header.number;
  out.text = bytes.substr(sizeof header, header.size - sizeof header);
  return out;
}

Received receive(int socket, Message& message, bool& lost_fd, int flags) {
  char bytes[kMaxMessage];
  iovec content{bytes, sizeof bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr received{};
  received.msg_iov = &content;
  received.msg_iovlen = 1;
  received.msg_control = control;
  received.msg_controllen = sizeof control;
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &received, MSG_CMSG_CLOEXEC | flags);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return errno == EAGAIN ? Received::nothing : Received::end;
  lib::Fd fd = take_descriptor(received);
  if (size == 0) return Received::end;
  lost_fd = (received.msg_flags & MSG_CTRUNC) != 0;
  auto decoded = (received.msg_flags & MSG_TRUNC) != 0
                     ? std::nullopt
                     : decode(std::string_view(bytes, static_cast<std::size_t>(size)));
  if (!decoded) return Received::malformed;
  message = *std::move(decoded);
  message.fd = std::move(fd);
  return Received::message;
}

int send(int socket, std::string_view bytes, int fd) {
  iovec content{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  return address;
}

}  // namespace sluice::lifecycle::holding
