// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Attributes of netlink in memory: written at the end of a buffer, and read without trust in any length. Pure; any thread.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sluice::nftables {

// Appends to `out`, whose end is at a multiple of 4.
class AttributeWriter {
 public:
  explicit AttributeWriter(std::string& out) : out_(out) {}

  void put(std::uint16_t type, const void* value, std::size_t size);
  void put_text(std::uint16_t type, std::string_view value);   // with a NUL behind it
  void put_be32(std::uint16_t type, std::uint32_t value);
  // What is put until end_nest() is inside. Returns what end_nest() wants.
  std::size_t begin_nest(std::uint16_t type);
  // REQUIRES: less than 64 KiB inside.
  void end_nest(std::size_t nest);

 private:
  std::string& out_;
};

// The first attribute of this type among those in `bytes`; data() is null when there is none.
std::string_view find_attribute(std::string_view bytes, std::uint16_t type) noexcept;

// body(type, value) for each attribute in `bytes`; ends at one that is cut off. False: it ended that way.
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

// A text up to its NUL.
std::string_view text_of(std::string_view value) noexcept;
// 0 when the size is another one.
std::uint32_t be32_of(std::string_view value) noexcept;
std::uint64_t be64_of(std::string_view value) noexcept;

// What follows nlmsghdr and nfgenmsg; data() is null where that does not fit into the message. REQUIRES: header->nlmsg_len bytes are there.
std::string_view attributes_of(const nlmsghdr* header) noexcept;
std::uint8_t family_of(const nlmsghdr* header) noexcept;  // of nfgenmsg; 0 as above

}  // namespace sluice::nftables
