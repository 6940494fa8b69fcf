// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/service_cidr_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::store {

bool ServiceCidrSet::end_list() {
  const auto gone = std::erase_if(objects_, [this](const auto& object) { return !in_list_.contains(object.first); });
  in_list_.clear();
  return gone != 0;
}

bool ServiceCidrSet::upsert(model::ServiceCidr object) {
  in_list_.insert(object.name);
  const auto known = objects_.find(object.name);
  if (known != objects_.end() && known->second == object.cidrs) return false;
  objects_.insert_or_assign(std::move(object.name), std::move(object.cidrs));
  return true;
}

std::vector<lib::IpPrefix> ServiceCidrSet::ranges(lib::Family family) const {
  std::vector<lib::IpPrefix> all;
  for (const auto& [name, cidrs] : objects_) {
    std::copy_if(cidrs.begin(), cidrs.end(), std::back_inserter(all),
                 [family](const lib::IpPrefix& cidr) { return cidr.family() == family; });
  }
  // By address, shorter prefixes first: a containing range comes before the ranges inside it.
  std::sort(all.begin(), all.end());
  std::vector<lib::IpPrefix> out;
  for (const auto& cidr : all) {
    if (out.empty() || !out.back().contains(cidr)) out.push_back(cidr);
  }
  return out;
}

}  // namespace sluice::store
