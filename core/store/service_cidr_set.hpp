// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// All ServiceCIDRs, and the union of their ranges (BEH 1.7). Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/model/service_cidr.hpp"
#include "lib/ip.hpp"

namespace sluice::store {

class ServiceCidrSet {
 public:
  void begin_list() { in_list_.clear(); }
  // Removes objects that the list did not contain. end_list(), upsert() and remove() return whether anything changed.
  bool end_list();
  bool upsert(model::ServiceCidr object);
  bool remove(const std::string& name) { return objects_.erase(name) != 0; }
  // Marks an invalid object as still existing.
  void touch(const std::string& name) { in_list_.insert(name); }

  // Sorted, without ranges that are inside another.
  std::vector<lib::IpPrefix> ranges(lib::Family family) const;

 private:
  std::map<std::string, std::vector<lib::IpPrefix>> objects_;
  std::set<std::string> in_list_;  // names in the current list
};

}  // namespace sluice::store
