// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Netlink attributes in memory: appended to a buffer, and read without trust in any length. Pure; any thread.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sluice::nftables {

// Appends to `out`, whose size must be a multiple of 4.
class AttributeWriter {
 public:
  explicit AttributeWriter(std::string& out) : out_(out) {}

  void put(std::uint16_t type, const void* value, std::size_t size);
  void put_text(std::uint16_t type, std::string_view value);  // NUL-terminated
  void put_be32(std::uint16_t type, std::uint32_t value);
  // Attributes put until end_nest() are nested. Returns the argument of end_nest().
  std::size_t begin_nest(std::uint16_t type);
  // REQUIRES: the nested attributes take less than 64 KiB.
  void end_nest(std::size_t nest);

 private:
  std::string& out_;
};

// The first attribute of this type in `bytes`; data() is null if there is none.
std::string_view find_attribute(std::string_view bytes, std::uint16_t type) noexcept;

// Calls body(type, value) for each attribute in `bytes`. Returns false at an attribute that is cut off.
template <class Body>
bool each_attribute(std::string_view bytes, const Body& body) {
  while (bytes.size() >= sizeof(nlattr)) {
    nlattr header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.nla_len < sizeof(header) || header.nla_len > bytes.size()) return false;
    body(static_cast<std::uint16_t>(header.nla_type & NLA_TYPE_MASK),
         bytes.substr(sizeof(header), header.nla_len - sizeof(header)));
    const std::size_t step = NLA_ALIGN(static_cast<std::size_t>(header.nla_len));
    if (step >= bytes.size()) return true;
    bytes.remove_prefix(step);
  }
  return bytes.empty();
}

// The text up to its NUL.
std::string_view text_of(std::string_view value) noexcept;
// 0 if the size differs.
std::uint32_t be32_of(std::string_view value) noexcept;
std::uint64_t be64_of(std::string_view value) noexcept;

// The attributes behind nlmsghdr and nfgenmsg; data() is null if the message is too short. REQUIRES:
// header->nlmsg_len bytes are readable.
std::string_view attributes_of(const nlmsghdr* header) noexcept;
std::uint8_t family_of(const nlmsghdr* header) noexcept;  // the family in nfgenmsg; 0 if the message is too short

}  // namespace sluice::nftables
