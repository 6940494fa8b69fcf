// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Messages as they are built. Attributes go in with the nla_put… of <netlink/attr.h>, each through
// must(); what comes back is read with nlmsg_find_attr, nla_parse … of the same library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

struct nl_msg;
struct nlattr;

namespace sluice::netlink {

struct FreeMessage {
  void operator()(nl_msg* message) const noexcept;
};
using Message = std::unique_ptr<nl_msg, FreeMessage>;

inline constexpr std::size_t kMessageRoom = 1024;  // bytes: a request with a handful of attributes

// A request; flags beyond NLM_F_REQUEST (NLM_F_CREATE, NLM_F_EXCL …) are given, those for acknowledgement and dump are set by who
// sends it. `header`: what follows nlmsghdr, ifinfomsg or genlmsghdr for example. Throw std::bad_alloc.
Message make_message(std::uint16_t type, std::uint16_t flags, const void* header, std::size_t size,
                     std::size_t room = kMessageRoom);
template <class Header>
Message make_message(std::uint16_t type, std::uint16_t flags, const Header& header) {
  return make_message(type, flags, &header, sizeof(header));
}

// Of generic netlink; `family` as GenericFamily tells it.
Message make_generic(std::uint16_t family, std::uint8_t command, std::uint8_t version, std::uint16_t flags = 0);

// For results of nla_put and its like: all they can complain of is that there is no room. Throws std::bad_alloc.
void must(int result);
// The same for nla_nest_start.
nlattr* must(nlattr* nested);

// Numbers of any width the kernel has given this attribute over time; 0 for none.
std::uint64_t number(const nlattr* attribute) noexcept;

// What goes over the wire.
std::string_view bytes(const Message& message) noexcept;

}  // namespace sluice::netlink
