// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/transport.hpp"

#include <string_view>

#include "lib/text.hpp"

namespace sluice::kube {

std::string Request::target() const {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  std::string out = path;
  char separator = '?';
  for (const auto& [key, value] : query) {
    out += separator;
    separator = '&';
    out += key;
    out += '=';
    out += lib::percent_encoded(value, kPlain);
  }
  return out;
}

}  // namespace sluice::kube
