// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/transport.hpp"

#include <string_view>

namespace sluice::kube {
namespace {

void append_encoded(std::string& out, std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
}

}  // namespace

std::string Request::target() const {
  std::string out = path;
  char separator = '?';
  for (const auto& [key, value] : query) {
    out += separator;
    separator = '&';
    out += key;
    out += '=';
    append_encoded(out, value);
  }
  return out;
}

}  // namespace sluice::kube
