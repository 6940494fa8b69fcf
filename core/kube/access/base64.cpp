// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/base64.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace sluice::kube {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

std::string base64_encode(const std::string& bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= count ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

lib::Result<std::string> base64_decode(const std::string& text) {
  std::string out;
  std::uint32_t group = 0;
  int bits = 0;
  bool padded = false;
  std::size_t characters = 0;
  for (const char c : text) {
    if (is_space(c)) continue;
    ++characters;
    if (c == '=') {
      padded = true;
      continue;
    }
    const auto value = kAlphabet.find(c);
    if (value == std::string_view::npos || padded) return lib::invalid("is not base64");
    group = (group << 6 | static_cast<std::uint32_t>(value)) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(group >> bits & 0xff);
    }
  }
  if (characters % 4 != 0) return lib::invalid("is not base64");
  return out;
}

}  // namespace sluice::kube
