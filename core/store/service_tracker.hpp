// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// All Services, reduced to what decides about packets. One thread.
#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/model/service.hpp"

namespace sluice::store {

// BEH 2.1, 2.2: does the Service yield service ports in this family?
bool has_service_ports(const model::Service& service, base::Family family);
// Why not, in words: "its type is ExternalName"; empty where it does.
std::string_view why_not_proxied(const model::Service& service, base::Family family);

class ServiceTracker {
 public:
  // What an event did to one Service, and in which families that can be seen.
  struct Change {
    bool changed = false;
    bool family_affected[2] = {false, false};  // by base::family_index
  };

  Change upsert(model::Service service);
  Change remove(const model::ObjectName& name);
  void touch(const model::ObjectName& name);
  void begin_list() { ++epoch_; }
  // Names the list did not mention, removed.
  std::vector<std::pair<model::ObjectName, Change>> end_list();

  const model::Service* find(const model::ObjectName& name) const;
  std::vector<model::ObjectName> names() const;
  std::size_t size() const { return services_.size(); }

 private:
  struct Entry {
    model::Service service;
    std::uint32_t epoch = 0;
  };
  std::unordered_map<model::ObjectName, Entry> services_;
  std::uint32_t epoch_ = 0;
};

}  // namespace sluice::store
