// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/settings/table.hpp"

#include <algorithm>
#include <tuple>

#include "lib/number.hpp"
#include "plugins/common/settings/values.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/nearest.hpp"

namespace sluice::settings {

std::string_view name_of(std::string_view key) {
  const auto bracket = key.find('[');
  if (bracket == std::string_view::npos || !key.ends_with(']')) return key;
  const std::string_view index = key.substr(bracket + 1, key.size() - bracket - 2);
  return lib::parse_number<std::uint64_t>(index) ? key.substr(0, bracket) : key;
}

std::vector<std::pair<std::string, std::string>> in_order(const sdk::Options& options) {
  std::vector<std::pair<std::string, std::string>> given(options.all().begin(), options.all().end());
  // By index, because as text [10] comes before [2].
  std::sort(given.begin(), given.end(), [](const auto& a, const auto& b) {
    return std::tuple(name_of(a.first), a.first.size(), a.first) <
           std::tuple(name_of(b.first), b.first.size(), b.first);
  });
  return given;
}

std::size_t find_key(std::span<const Key> keys, const std::string& given, std::string_view backend) {
  const std::string_view name = name_of(given);
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Key& key = keys[i];
    known.push_back(key.key);
    if (key.key == name && key.list == (name.size() != given.size())) return i;
    if (given.starts_with(key.key) &&
        (given.size() == key.key.size() || given.find_first_of("[.", key.key.size()) == key.key.size())) {
      refuse(given, std::string(key.list ? "is not a list" : "is a list or a map") + "; allowed for " +
                        std::string(key.key) + ": " + std::string(key.allowed));
    }
  }
  const std::string_view nearest = sdk::nearest_name(given, known);
  std::string remedy = "did you mean " + std::string(nearest) + "?";
  if (nearest.empty()) {
    remedy = "the " + std::string(backend) + " backend knows ";
    for (std::size_t i = 0; i < known.size(); ++i) remedy += (i == 0 ? "" : ", ") + std::string(known[i]);
  }
  refuse(given, "unknown setting; " + remedy);
}

void refuse(std::string key, const std::string& message) {
  throw sdk::Failure(abi::Code::kInvalid, std::move(key), message);
}

void refuse_value(const std::string& key, const std::string& value, Problem problem, std::string_view allowed) {
  const std::string sentence = *problem == '\0' ? " is not a valid value" : std::string(": ") + problem;
  refuse(key, "'" + value + "'" + sentence + "; allowed: " + std::string(allowed));
}

}  // namespace sluice::settings
