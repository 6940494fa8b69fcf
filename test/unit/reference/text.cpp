// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cctype>

#include "test/unit/reference/parts.hpp"

namespace sluice::reference {
namespace {

// Without a sentence mark at the end.
std::string_view bare(std::string_view word) {
  while (!word.empty() && std::string_view(".,;:)").find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  return word;
}

bool is_code(std::string_view word) {
  if (word.starts_with("--") || word.find("=") != std::string_view::npos) return word.size() > 2;
  if (word.starts_with('/') || word.starts_with('?')) return word.size() > 1;
  if (word.starts_with("http")) return false;
  // Names such as conn_reuse_mode and camelCase; words such as IPv4 and EndpointSlices stay as they are.
  if (word.find('_') != std::string_view::npos) return true;
  bool lower_first = !word.empty() && std::islower(static_cast<unsigned char>(word[0])) != 0;
  for (const char c : word.substr(word.empty() ? 0 : 1)) {
    if (lower_first && std::isupper(static_cast<unsigned char>(c)) != 0) return true;
  }
  return false;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string prose(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    std::string_view word = text.substr(0, blank);
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
    if (!out.empty()) out += ' ';
    std::string_view opening;
    if (word.starts_with('(')) {
      opening = "(";
      word.remove_prefix(1);
    }
    const std::string_view name = bare(word);
    const std::string rest(word.substr(name.size()));
    out += opening;
    if (name == "*" || name == "?" || is_code(name)) {
      out += code(name) + rest;
    } else {
      out += escaped(word);
    }
  }
  return out;
}

std::string code(std::string_view text) { return text.empty() ? "" : "`" + escaped(text) + "`"; }

std::string row(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += cell.empty() ? " |" : " " + cell + " |";
  return out + "\n";
}

std::string heading_row(const std::vector<std::string>& cells) {
  std::string out = row(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) out += "---|";
  return out + "\n";
}

std::string sentences(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) {
    if (!part.empty()) out += (out.empty() ? "" : " ") + part;
  }
  return out;
}

}  // namespace sluice::reference
