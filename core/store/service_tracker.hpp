// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// All Services, reduced to what decides about packets. One thread.
#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/model/service.hpp"
#include "core/store/frontend_claims.hpp"

namespace sluice::store {

class ServiceTracker {
 public:
  // What an event did to one Service, and in which families that can be seen.
  struct Change {
    bool changed = false;
    bool family_affected[2] = {false, false};  // by base::family_index
    std::vector<model::ObjectName> others;     // Services that gain or lose an address or port
  };

  explicit ServiceTracker(bool external_ips) : external_ips_(external_ips) {}

  // Whether spec.externalIPs count from now on. Returns the names of affected Services.
  std::vector<model::ObjectName> serve_external_ips(bool on);
  // No external IP takes these addresses from now on. They are sorted. Returns the names of affected Services.
  std::vector<model::ObjectName> reserve(std::vector<base::SocketAddress> addresses);
  Change upsert(model::Service service);
  Change remove(const model::ObjectName& name);
  void touch(const model::ObjectName& name);
  void begin_list() { ++epoch_; }
  // Names the list did not mention, removed.
  std::vector<std::pair<model::ObjectName, Change>> end_list();

  const model::Service* find(const model::ObjectName& name) const;
  std::vector<model::ObjectName> names() const;
  std::size_t size() const { return services_.size(); }
  const FrontendClaims& claims() const { return claims_; }

 private:
  struct Entry {
    model::Service service;
    std::uint32_t epoch = 0;
  };
  std::unordered_map<model::ObjectName, Entry> services_;
  std::uint32_t epoch_ = 0;
  bool external_ips_;
  FrontendClaims claims_;
};

}  // namespace sluice::store
