// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What elements have to become, in the size of what changed: of whatever happens to one in between only the sum is left. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/nftables/model/model.hpp"

namespace sluice::nftables {

class Pending {
 public:
  Owner owner(const std::string& name);
  // In this order where both are of the same key.
  void removed(const Record& record, Owner owner);
  void added(const Record& record, Owner owner);
  // All of it, and forgets it.
  void take(Changes& into);
  void clear();

 private:
  struct Version {
    Data data;
    Owner owner = 0;
  };
  struct Change {
    std::optional<Version> before;  // in the kernel, or soon
    std::optional<Version> after;
  };
  std::map<std::pair<SetId, Key>, Change> changes_;
  std::vector<std::string> owners_{std::string()};
  std::unordered_map<std::string, Owner> places_;
};

}  // namespace sluice::nftables
