// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "netecho_options.hpp"

#include <charconv>
#include <system_error>

namespace netecho {

Options::Options(const std::vector<std::string>& words, const Accepted& accepted) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.rfind("--", 0) != 0) {
      positional_.push_back(word);
      continue;
    }
    if (accepted.alone.contains(word)) {
      option_values_[word];
    } else if (accepted.with_value.contains(word)) {
      if (i + 1 == words.size()) throw UsageError(word + " needs a value");
      option_values_[word].push_back(words[++i]);
    } else {
      throw UsageError("unknown option " + word);
    }
  }
  if (positional_.size() != accepted.positional) {
    throw UsageError("expected " + std::to_string(accepted.positional) + " arguments, got " +
                     std::to_string(positional_.size()));
  }
}

std::vector<std::string> Options::all(std::string_view name) const {
  const auto found = option_values_.find(name);
  return found == option_values_.end() ? std::vector<std::string>{} : found->second;
}

std::string Options::text(std::string_view name, std::string_view otherwise) const {
  const auto given = all(name);
  return given.empty() ? std::string(otherwise) : given.back();
}

unsigned Options::number(std::string_view name, unsigned otherwise) const {
  const auto given = all(name);
  return given.empty() ? otherwise : parse_number(given.back(), name);
}

std::chrono::milliseconds Options::milliseconds(std::string_view name, unsigned otherwise) const {
  return std::chrono::milliseconds(number(name, otherwise));
}

unsigned parse_number(std::string_view text, std::string_view what) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw UsageError(std::string(what) + ": '" + std::string(text) + "' is not a number");
  }
  return value;
}

std::uint16_t parse_port(std::string_view text) {
  const unsigned value = parse_number(text, "port");
  if (value > 65535) throw UsageError("port " + std::string(text) + " is above 65535");
  return static_cast<std::uint16_t>(value);
}

}  // namespace netecho
