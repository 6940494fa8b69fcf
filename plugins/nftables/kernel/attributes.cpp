// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/attributes.hpp"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netfilter/nfnetlink.h>

namespace sluice::nftables {

void AttributeWriter::put(std::uint16_t type, const void* value, std::size_t size) {
  const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + size), type};
  const std::size_t at = out_.size();
  out_.resize(at + NLA_ALIGN(sizeof(header) + size));
  std::memcpy(out_.data() + at, &header, sizeof(header));
  if (size != 0) std::memcpy(out_.data() + at + sizeof(header), value, size);
}

void AttributeWriter::put_text(std::uint16_t type, std::string_view value) {
  const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + value.size() + 1), type};
  const std::size_t at = out_.size();
  out_.resize(at + NLA_ALIGN(sizeof(header) + value.size() + 1));
  std::memcpy(out_.data() + at, &header, sizeof(header));
  value.copy(out_.data() + at + sizeof(header), value.size());
}

void AttributeWriter::put_be32(std::uint16_t type, std::uint32_t value) {
  value = htonl(value);
  put(type, &value, sizeof(value));
}

std::size_t AttributeWriter::begin_nest(std::uint16_t type) {
  const std::size_t at = out_.size();
  put(static_cast<std::uint16_t>(type | NLA_F_NESTED), nullptr, 0);
  return at;
}

void AttributeWriter::end_nest(std::size_t nest) {
  const auto size = static_cast<std::uint16_t>(out_.size() - nest);
  std::memcpy(out_.data() + nest, &size, sizeof(size));
}

std::string_view find_attribute(std::string_view bytes, std::uint16_t type) noexcept {
  std::string_view found;
  each_attribute(bytes, [&](std::uint16_t is, std::string_view value) {
    if (is == type && found.data() == nullptr) found = value;
  });
  return found;
}

std::string_view text_of(std::string_view value) noexcept { return value.substr(0, value.find('\0')); }

std::uint32_t be32_of(std::string_view value) noexcept {
  std::uint32_t number = 0;
  if (value.size() != sizeof(number)) return 0;
  std::memcpy(&number, value.data(), sizeof(number));
  return ntohl(number);
}

std::uint64_t be64_of(std::string_view value) noexcept {
  std::uint64_t number = 0;
  if (value.size() != sizeof(number)) return 0;
  std::memcpy(&number, value.data(), sizeof(number));
  return be64toh(number);
}

std::string_view attributes_of(const nlmsghdr* header) noexcept {
  constexpr std::size_t kBefore = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(nfgenmsg));
  if (header->nlmsg_len < kBefore) return {};
  return {reinterpret_cast<const char*>(header) + kBefore, header->nlmsg_len - kBefore};
}

std::uint8_t family_of(const nlmsghdr* header) noexcept {
  if (header->nlmsg_len < NLMSG_HDRLEN + sizeof(nfgenmsg)) return 0;
  return reinterpret_cast<const nfgenmsg*>(reinterpret_cast<const char*>(header) + NLMSG_HDRLEN)->nfgen_family;
}

}  // namespace sluice::nftables
