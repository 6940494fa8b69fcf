// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/layout/typeof.hpp"

#include <libnftnl/udata.h>
#include <linux/netfilter/nf_tables.h>

#include <cstring>

namespace sluice::nftables {
namespace {

// Numbers of expressions, protocols and header fields in nft's userdata format.
constexpr std::uint32_t kPayload = 7;
constexpr std::uint32_t kMeta = 9;
constexpr std::uint32_t kConcatenation = 13;
constexpr std::uint32_t kNumgen = 23;

constexpr std::uint32_t kTransportHeader = 11;
constexpr std::uint32_t kTransportDestinationPort = 2;
constexpr std::uint32_t kIpv4Header = 12;
constexpr std::uint32_t kIpv4Destination = 12;
constexpr std::uint32_t kIpv6Header = 13;
constexpr std::uint32_t kIpv6Destination = 9;

constexpr std::uint32_t kSlotModulus = 65536;

// Type, length, value; lengths are one byte.
void put(std::string& to, std::uint8_t type, std::string_view value) {
  to += static_cast<char>(type);
  to += static_cast<char>(value.size());
  to += value;
}

void put_number(std::string& to, std::uint8_t type, std::uint32_t value) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  put(to, type, {bytes, sizeof(bytes)});
}

void put_text(std::string& to, std::uint8_t type, std::string_view text) { put(to, type, std::string(text) + '\0'); }

std::string numbers(std::initializer_list<std::uint32_t> list) {
  std::string to;
  std::uint8_t type = 0;
  for (const auto value : list) put_number(to, type++, value);
  return to;
}

std::string expression(std::uint32_t kind, std::string_view content) {
  std::string to;
  put_number(to, NFTNL_UDATA_SET_TYPEOF_EXPR, kind);
  put(to, NFTNL_UDATA_SET_TYPEOF_DATA, content);
  return to;
}

std::string expression(abi::Family family, TypeofPart part) {
  switch (part) {
    case TypeofPart::kDestination:
      return family == abi::Family::kIpv6 ? expression(kPayload, numbers({kIpv6Header, kIpv6Destination}))
                                          : expression(kPayload, numbers({kIpv4Header, kIpv4Destination}));
    case TypeofPart::kPort:
      return expression(kPayload, numbers({kTransportHeader, kTransportDestinationPort}));
    case TypeofPart::kProtocol:
      return expression(kMeta, numbers({NFT_META_L4PROTO}));
    case TypeofPart::kPriority:
      return expression(kMeta, numbers({NFT_META_PRIORITY}));
    case TypeofPart::kSlot:
      break;
  }
  return expression(kNumgen, numbers({NFT_NG_RANDOM, kSlotModulus, 0}));
}

// Writes nothing for a plain type that is not a concatenation.
void put_typeof(std::string& to, std::uint8_t type, abi::Family family, const NftType& of) {
  if (of.parts.size() == 1) return put(to, type, expression(family, of.parts.front()));
  if (of.parts.empty() && !of.concatenated) return;
  std::string content;
  std::uint8_t place = 0;
  for (const auto part : of.parts) put(content, place++, expression(family, part));
  put(to, type, expression(kConcatenation, content));
}

}  // namespace

std::string set_userdata(abi::Family family, const NftType& key, const NftType* data, std::string_view comment) {
  std::string to;
  put_number(to, NFTNL_UDATA_SET_KEYBYTEORDER, key.byte_order);
  if (data != nullptr) put_number(to, NFTNL_UDATA_SET_DATABYTEORDER, data->byte_order);
  put_typeof(to, NFTNL_UDATA_SET_KEY_TYPEOF, family, key);
  if (data != nullptr) {
    put_typeof(to, NFTNL_UDATA_SET_DATA_TYPEOF, family, *data);
    put_number(to, NFTNL_UDATA_SET_DATA_INTERVAL, 0);
  }
  if (!comment.empty()) put_text(to, NFTNL_UDATA_SET_COMMENT, comment);
  return to;
}

std::string comment_userdata(std::string_view comment) {
  std::string to;
  if (!comment.empty()) put_text(to, NFTNL_UDATA_RULE_COMMENT, comment);
  return to;
}

std::string read_comment(const void* userdata, std::size_t size) {
  const auto* bytes = static_cast<const std::uint8_t*>(userdata);
  while (size >= 2 && size - 2 >= bytes[1]) {
    const std::size_t length = bytes[1];
    if (bytes[0] == NFTNL_UDATA_RULE_COMMENT) {
      const auto* text = reinterpret_cast<const char*>(bytes + 2);
      return std::string(text, strnlen(text, length));
    }
    bytes += 2 + length;
    size -= 2 + length;
  }
  return {};
}

}  // namespace sluice::nftables
