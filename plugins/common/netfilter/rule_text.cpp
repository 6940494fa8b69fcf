// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/rule_text.hpp"

#include <algorithm>

#include "sluice/sdk/error.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::netfilter {

bool is_plain_name(std::string_view name) noexcept {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  });
}

void check_key(const abi::ServicePortKey& key, const std::string& name, const char* invalid, std::size_t most) {
  if (sdk::protocol_name(key.protocol).empty()) {
    throw sdk::Failure(abi::Code::kUnsupported, name, "its protocol is not known");
  }
  bool valid = name.size() <= most;
  for (const abi::StringView& part : {key.service_namespace, key.service_name, key.port_name}) {
    valid = valid && is_plain_name(sdk::text(part));
  }
  if (!valid) throw sdk::Failure(abi::Code::kInvalid, name, invalid);
}

std::string quoted_comment(std::string_view text) {
  return std::string("-m comment --comment \"").append(text).append("\"");
}

bool contains(const abi::Prefix& range, const abi::Address& address) noexcept {
  for (unsigned bit = 0; bit < range.length; ++bit) {
    const unsigned mask = 0x80u >> (bit % 8);
    if (((range.address.bytes[bit / 8] ^ address.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool is_loopback(abi::Family family, const abi::Address& address) noexcept {
  if (family == abi::Family::kIpv4) return address.bytes[0] == 127;
  return address.bytes[15] == 1 && std::all_of(address.bytes, address.bytes + 15, [](auto byte) { return byte == 0; });
}

}  // namespace sluice::netfilter
