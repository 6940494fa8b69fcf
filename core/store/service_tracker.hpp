// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// All Services, reduced to the fields that affect traffic. Not thread-safe.
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
  // The effect of an event on one Service.
  struct Change {
    bool changed = false;
    bool family_affected[2] = {false, false};  // by lib::family_index
    std::vector<model::ObjectName> affected;   // other Services that gain or lose an address or port
  };

  explicit ServiceTracker(bool external_ips) : external_ips_(external_ips) {}

  // Sets whether spec.externalIPs are served. Returns the names of affected Services.
  std::vector<model::ObjectName> serve_external_ips(bool on);
  // Sets the addresses that no external IP may take, sorted. Returns the names of affected Services.
  std::vector<model::ObjectName> reserve(std::vector<lib::SocketAddress> addresses);
  Change upsert(model::Service service);
  Change remove(const model::ObjectName& name);
  void touch(const model::ObjectName& name);
  void begin_list() { ++epoch_; }
  // Removes the Services that the list did not contain, and returns them.
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
