// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/transport.hpp"

#include <string_view>

namespace sluice::kube {

std::string percent_encoded(std::string_view text, std::string_view plain) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (plain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

std::string Request::target() const {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  std::string out = path;
  char separator = '?';
  for (const auto& [key, value] : query) {
    out += separator;
    separator = '&';
    out += key;
    out += '=';
    out += percent_encoded(value, kPlain);
  }
  return out;
}

}  // namespace sluice::kube
