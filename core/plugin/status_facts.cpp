// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/status_facts.hpp"

#include <exception>
#include <string_view>
#include <utility>

#include "core/plugin/host_services.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::plugin {
namespace {

// One line of at most kMaxText bytes, cut between two characters.
std::string bounded(abi::StringView view) {
  std::string_view text = sdk::text(view);
  if (text.size() > StatusFacts::kMaxText) {
    std::size_t end = StatusFacts::kMaxText;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end);
  }
  return one_line(text);
}

}  // namespace

void StatusFacts::set(abi::StringView name, abi::StringView value, abi::StringView remedy) noexcept {
  try {
    if (name.size == 0 || name.size > kMaxText) return;
    std::string key = one_line(sdk::text(name));
    Fact fact{bounded(value), bounded(remedy)};
    const lib::Lock lock(mutex_);
    if (fact.value.empty()) {
      facts_.erase(key);
    } else if (facts_.size() < kMaxFacts || facts_.contains(key)) {
      facts_[std::move(key)] = std::move(fact);
    }
  } catch (const std::exception&) {  // out of memory: the fact is not shown
  }
}

std::vector<StatusFact> StatusFacts::all() const {
  std::vector<StatusFact> out;
  const lib::Lock lock(mutex_);
  for (const auto& [name, fact] : facts_) out.push_back({name, fact.value, fact.remedy});
  return out;
}

}  // namespace sluice::plugin
