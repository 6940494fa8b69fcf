// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Building of netlink messages. Attributes are added with nla_put… of <netlink/attr.h>, each call wrapped
// in must(); replies are read with nlmsg_find_attr, nla_parse … of the same library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

struct nl_msg;
struct nlattr;
struct nlmsghdr;

namespace sluice::lib::netlink {

struct FreeMessage {
  void operator()(nl_msg* message) const noexcept;
};
using Message = std::unique_ptr<nl_msg, FreeMessage>;

inline constexpr std::size_t kMessageRoom = 1024;  // bytes: a request with a handful of attributes

// A request. `flags`: NLM_F_CREATE, NLM_F_EXCL …; Socket sets NLM_F_REQUEST and the flags for acknowledgement and dump.
// `header`: the header after nlmsghdr, such as ifinfomsg or genlmsghdr. Throw std::bad_alloc.
Message make_message(std::uint16_t type, std::uint16_t flags, const void* header, std::size_t size,
                     std::size_t room = kMessageRoom);
template <class Header>
Message make_message(std::uint16_t type, std::uint16_t flags, const Header& header) {
  return make_message(type, flags, &header, sizeof(header));
}

// A generic netlink request; `family` comes from GenericFamily.
Message make_generic(std::uint16_t family, std::uint8_t command, std::uint8_t version, std::uint16_t flags = 0);

// Checks the result of nla_put and similar functions, which fail only for lack of room. Throws std::bad_alloc.
void must(int result);
// The same for nla_nest_start.
nlattr* must(nlattr* nested);

// An integer attribute of 1, 2, 4 or 8 bytes, since widths differ between kernel versions, as its bytes are stored: the
// caller converts attributes in network byte order. 0 for null and for other sizes.
std::uint64_t integer_attribute(const nlattr* attribute) noexcept;

// The attribute of this type in a nested one; null if it is missing or `nest` is null.
const nlattr* nested_attribute(const nlattr* nest, int type) noexcept;

// A string attribute without its NUL, which is optional; empty for null.
std::string_view string_attribute(const nlattr* attribute) noexcept;

// The encoded message; it belongs to `message`.
nlmsghdr* header_of(const Message& message) noexcept;
std::string_view bytes_of(const Message& message) noexcept;

}  // namespace sluice::lib::netlink
