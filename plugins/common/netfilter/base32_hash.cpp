// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/base32_hash.hpp"

#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

namespace sluice::netfilter {

ShortHash base32_hash(std::string_view input) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum;
  unsigned int size = 0;
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), input.data(), input.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), sum.data(), &size) != 1 || size < 10) {
    throw std::runtime_error("SHA-256 is not available from libcrypto");
  }
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
