// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Messages between the daemon and the descriptor holder, on a SOCK_SEQPACKET socket. A message is a header and a body;
// `size` covers both, and may be less than what is sent: a receiver ignores bytes behind the body that it knows. One
// descriptor at most comes with a message.
//
// The holder outlives the daemon, so another version may speak with it. Of these parts no version changes anything: the
// header, the types hello, give, descriptor, done and end, and the first bytes of their bodies. All else needs the same
// version; a daemon that finds another one takes the descriptors and starts its own holder. Unknown types are ignored.
#pragma once

#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/fd.hpp"

namespace sluice::lifecycle::holding {

inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kMaxMessage = 1024;

enum class Type : std::uint16_t {
  hello = 1,       // daemon: number = milliseconds without a daemon until the holder ends; the holder answers with its
                   // version, number = how many descriptors it has
  give = 2,        // daemon: the holder answers with a `descriptor` for each, and `done`
  descriptor = 3,  // holder: text = name, with the descriptor
  done = 4,        // holder: number = how many were sent
  end = 5,         // daemon: the holder closes everything and ends
  store = 6,       // daemon: text = name, with the descriptor; replaces an earlier one
  remove = 7,      // daemon: text = name; with the last one, the holder ends
  refused = 8,     // holder: text = name of a descriptor that it could not store
};

struct Message {
  Type type{};
  std::uint16_t version = kVersion;
  std::uint32_t number = 0;
  std::string text{};
  lib::Fd fd{};  // of a received message
};

// The bytes of a message without its descriptor.
std::string encode(const Message& message);
// Nothing: malformed.
std::optional<Message> decode(std::string_view bytes);

enum class Received { message, malformed, nothing, end };
// Reads one message without waiting longer than the socket's receive timeout. `lost_fd`: its descriptor did not fit
// into the table of this process.
Received receive(int socket, Message& message, bool& lost_fd, int flags);
// 0 or an errno. `fd` -1: none.
int send(int socket, std::string_view bytes, int fd);

// Nothing: the path is too long.
std::optional<sockaddr_un> address_of(const std::string& path);

}  // namespace sluice::lifecycle::holding
