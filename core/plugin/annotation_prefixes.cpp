// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/annotation_prefixes.hpp"

#include <algorithm>
#include <string_view>

#include "core/plugin/rejection.hpp"
#include "lib/text.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::plugin {
namespace {

// The limits of Kubernetes for the two parts of a key.
constexpr std::size_t kMostDomain = 253;
constexpr std::size_t kMostLabel = 63;
constexpr std::size_t kMostName = 63;
constexpr std::size_t kMostShown = 80;  // characters of a wrong prefix

bool is_small_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= kMostLabel && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_small_or_digit(c) || c == '-'; });
}

bool is_domain(std::string_view text) {
  if (text.empty() || text.size() > kMostDomain || text.back() == '.') return false;
  while (!text.empty()) {
    if (!is_label(lib::take_part(text, '.'))) return false;
  }
  return true;
}

// The beginning of a name, or nothing.
bool begins_name(std::string_view text) {
  const auto letter_or_digit = [](char c) { return is_small_or_digit(c) || (c >= 'A' && c <= 'Z'); };
  return text.size() <= kMostName && (text.empty() || letter_or_digit(text.front())) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_prefix(const std::string& whole) {
  const std::string_view text = whole;
  const auto slash = text.find('/');
  return slash != std::string_view::npos && is_domain(text.substr(0, slash)) && begins_name(text.substr(slash + 1));
}

}  // namespace

std::vector<std::string> read_annotation_prefixes(const abi::PluginEntry& entry) {
  std::vector<std::string> out;
  for (const abi::StringView& one : sdk::range<abi::StringView>(entry.annotation_prefixes)) {
    out.emplace_back(sdk::text(one));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

lib::Status check_annotation_prefixes(const std::filesystem::path& file, const std::vector<std::string>& prefixes) {
  const auto wrong = std::find_if_not(prefixes.begin(), prefixes.end(), is_prefix);
  if (wrong == prefixes.end()) return {};
  return reject_file(lib::StatusCode::invalid, file,
                     "descriptor check: annotation prefix '" + wrong->substr(0, kMostShown) +
                         "' is not a domain, a slash and the beginning of a name; write for example 'example.com/'");
}

}  // namespace sluice::plugin
