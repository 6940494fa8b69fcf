// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The ServiceCIDRs there are, and all their ranges as one (BEH 1.7). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/model/service_cidr.hpp"

namespace sluice::store {

class ServiceCidrSet {
 public:
  void begin_list() { in_list_.clear(); }
  // Whatever the list did not mention is gone. The three say whether an object has changed.
  bool end_list();
  bool upsert(model::ServiceCidr object);
  bool remove(const std::string& name) { return objects_.erase(name) != 0; }
  // Exists, but could not be read.
  void touch(const std::string& name) { in_list_.insert(name); }

  // Sorted, none inside another.
  std::vector<base::IpPrefix> ranges(base::Family family) const;

 private:
  std::map<std::string, std::vector<base::IpPrefix>> objects_;
  std::set<std::string> in_list_;  // the running one; later ones do not matter
};

}  // namespace sluice::store
