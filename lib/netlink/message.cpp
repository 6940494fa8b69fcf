// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/netlink/message.hpp"

#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cstring>
#include <new>

namespace sluice::lib::netlink {

void FreeMessage::operator()(nl_msg* message) const noexcept { nlmsg_free(message); }

Message make_message(std::uint16_t type, std::uint16_t flags, const void* header, std::size_t size, std::size_t room) {
  Message message(nlmsg_alloc_size(room));
  if (!message || nlmsg_put(message.get(), 0, 0, type, 0, NLM_F_REQUEST | flags) == nullptr ||
      nlmsg_append(message.get(), const_cast<void*>(header), size, NLMSG_ALIGNTO) != 0) {
    throw std::bad_alloc();
  }
  return message;
}

Message make_generic(std::uint16_t family, std::uint8_t command, std::uint8_t version, std::uint16_t flags) {
  genlmsghdr header{};
  header.cmd = command;
  header.version = version;
  return make_message(family, flags, header);
}

void must(int result) {
  if (result != 0) throw std::bad_alloc();
}

nlattr* must(nlattr* nested) {
  if (nested == nullptr) throw std::bad_alloc();
  return nested;
}

std::uint64_t integer_attribute(const nlattr* attribute) noexcept {
  if (attribute == nullptr) return 0;
  const void* const data = nla_data(attribute);
  const auto read = [data](auto value) {
    std::memcpy(&value, data, sizeof(value));
    return std::uint64_t{value};
  };
  switch (nla_len(attribute)) {
    case 1: return read(std::uint8_t{});
    case 2: return read(std::uint16_t{});
    case 4: return read(std::uint32_t{});
    case 8: return read(std::uint64_t{});
    default: return 0;
  }
}

const nlattr* nested_attribute(const nlattr* nest, int type) noexcept {
  return nest != nullptr ? nla_find(static_cast<const nlattr*>(nla_data(nest)), nla_len(nest), type) : nullptr;
}

std::string_view string_attribute(const nlattr* attribute) noexcept {
  if (attribute == nullptr || nla_len(attribute) <= 0) return {};
  const auto* const begin = static_cast<const char*>(nla_data(attribute));
  return {begin, strnlen(begin, static_cast<std::size_t>(nla_len(attribute)))};
}

nlmsghdr* header_of(const Message& message) noexcept { return nlmsg_hdr(message.get()); }

std::string_view bytes_of(const Message& message) noexcept {
  const nlmsghdr* const encoded = header_of(message);
  return {reinterpret_cast<const char*>(encoded), encoded->nlmsg_len};
}

}  // namespace sluice::lib::netlink
