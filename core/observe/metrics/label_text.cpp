// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/metrics/label_text.hpp"

#include <algorithm>

namespace sluice::observe {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_label_name(std::string_view name) {
  return !name.empty() && is_letter(name.front()) && !name.starts_with("__") &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

// Well-formed UTF-8 (RFC 3629): Prometheus rejects a whole scrape for one invalid byte.
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t n) { return static_cast<unsigned char>(text[n]); };
    const unsigned char first = at(i);
    const std::size_t length = first < 0x80                     ? 1
                               : first >= 0xc2 && first <= 0xdf ? 2
                               : (first & 0xf0) == 0xe0         ? 3
                               : first >= 0xf0 && first <= 0xf4 ? 4
                                                                : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t n = i + 1; n < i + length; ++n) {
      if ((at(n) & 0xc0) != 0x80) return false;
    }
    if (length > 2) {
      const unsigned char second = at(i + 1);
      if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return false;  // overlong, surrogates
      if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return false;  // overlong, too large
    }
    i += length;
  }
  return true;
}

// Consumes a value and its closing quote.
std::optional<std::string> take_value(std::string_view& rest) {
  std::string value;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (c == '"') {
      rest.remove_prefix(i + 1);
      return value;
    }
    if (c != '\\') {
      value += c;
      continue;
    }
    if (++i == rest.size()) break;
    switch (rest[i]) {
      case '\\':
        value += '\\';
        break;
      case '"':
        value += '"';
        break;
      case 'n':
        value += '\n';
        break;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_metric_name(std::string_view name) {
  const auto first = [](char c) { return is_letter(c) || c == ':'; };
  return !name.empty() && name.size() <= kMaxMetricNameLength && first(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return first(c) || is_digit(c); });
}

std::optional<std::vector<std::pair<std::string, std::string>>> parse_labels(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  if (text.size() > kMaxLabelTextLength || !is_utf8(text)) return std::nullopt;
  while (!text.empty()) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || !is_label_name(text.substr(0, equals))) return std::nullopt;
    std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    if (!text.starts_with('"')) return std::nullopt;
    text.remove_prefix(1);
    auto value = take_value(text);
    if (!value) return std::nullopt;
    out.emplace_back(std::move(name), std::move(*value));
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  std::sort(out.begin(), out.end());
  const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (std::adjacent_find(out.begin(), out.end(), same_name) != out.end()) return std::nullopt;
  std::erase_if(out, [](const auto& label) { return label.second.empty(); });
  return out;
}

}  // namespace sluice::observe
