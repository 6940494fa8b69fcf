// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/decode/text.hpp"

#include "lib/text.hpp"

namespace sluice::kube {

std::string in_quotes(std::string_view text, std::size_t shown) {
  std::string out = "\"";
  for (const char c : text.substr(0, shown)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += "\\x" + lib::hex_byte(c);
    } else {
      out += c;
    }
  }
  if (text.size() > shown) out += "...";
  return out + '"';
}

}  // namespace sluice::kube
