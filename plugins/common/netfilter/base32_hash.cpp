// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/base32_hash.hpp"

#include "lib/sha256.hpp"

namespace sluice::netfilter {

ShortHash base32_hash(std::string_view input) {
  const auto sum = lib::sha256_bytes(input);
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  ShortHash hash;
  unsigned int bits = 0;
  unsigned int held = 0;
  std::size_t byte = 0;
  for (char& character : hash) {
    if (held < 5) {
      bits = (bits << 8) | sum[byte++];
      held += 8;
    }
    held -= 5;
    character = kAlphabet[(bits >> held) & 31];
  }
  return hash;
}

}  // namespace sluice::netfilter
