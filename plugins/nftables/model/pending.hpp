// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Pending changes of elements, proportional to what changed: several changes of an element are merged into one. Pure.
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
  // For the same key, removed() must come before added().
  void removed(const Record& record, Owner owner);
  void added(const Record& record, Owner owner);
  // Moves all changes into `into`.
  void take(Changes& into);
  void clear();

 private:
  struct Version {
    Data data;
    Owner owner = 0;
  };
  struct Change {
    std::optional<Version> before;  // in the kernel, or about to be
    std::optional<Version> after;
  };
  std::map<std::pair<SetId, Key>, Change> changes_;
  std::vector<std::string> owners_{std::string()};
  std::unordered_map<std::string, Owner> places_;
};

}  // namespace sluice::nftables
