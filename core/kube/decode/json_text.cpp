// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/decode/json_text.hpp"

#include <algorithm>
#include <cstdio>

namespace sluice::kube {

void append_json_string(std::string& out, std::string_view text) {
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; };
  out += '"';
  while (!text.empty()) {
    const auto plain = std::find_if_not(text.begin(), text.end(), is_plain);
    const auto count = static_cast<std::size_t>(plain - text.begin());
    out += text.substr(0, count);
    text.remove_prefix(count);
    if (text.empty()) break;
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += code;
    }
  }
  out += '"';
}

}  // namespace sluice::kube
