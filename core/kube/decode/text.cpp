// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/decode/text.hpp"

#include <cstdio>

namespace sluice::kube {

std::string in_quotes(std::string_view text, std::size_t shown) {
  std::string out = "\"";
  for (const char c : text.substr(0, shown)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += code;
    } else {
      out += c;
    }
  }
  if (text.size() > shown) out += "...";
  return out + '"';
}

}  // namespace sluice::kube
