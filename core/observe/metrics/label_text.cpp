// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/metrics/label_text.hpp"

#include <simdjson.h>

#include <algorithm>

#include "core/plugin/metric_declarations.hpp"

namespace sluice::observe {
namespace {

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

bool is_label_value(std::string_view text) {
  // Prometheus rejects a whole scrape for one invalid byte.
  return text.size() <= kMaxLabelTextLength && simdjson::validate_utf8(text.data(), text.size());
}

std::optional<std::vector<std::pair<std::string, std::string>>> parse_labels(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!is_label_value(text)) return std::nullopt;
  while (!text.empty()) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || !plugin::is_label_name(text.substr(0, equals))) return std::nullopt;
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
