// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/ruleset.hpp"

namespace sluice::netfilter {

const Ruleset::Chains* Ruleset::table(std::string_view name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : &found->second;
}

const Chain* Ruleset::chain(std::string_view table_name, std::string_view name) const {
  const Chains* chains = table(table_name);
  if (chains == nullptr) return nullptr;
  const auto found = chains->find(name);
  return found == chains->end() ? nullptr : &found->second;
}

Ruleset::Chains& Ruleset::make_table(std::string_view name) {
  const auto found = tables_.find(name);
  return found != tables_.end() ? found->second : tables_.emplace(name, Chains()).first->second;
}

}  // namespace sluice::netfilter
