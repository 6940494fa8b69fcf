// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Resolves conflicts between Services that list the same address and port. A cluster IP belongs to the Service to which
// the API server allocated it. Any other address stays with its current holder; until the first list is complete, the
// oldest Service gets it. Not thread-safe; keeps pointers to the Services.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/model/service.hpp"
#include "lib/ip.hpp"

namespace sluice::store {

class FrontendClaims {
 public:
  struct Key {
    lib::IpAddress address;  // unspecified for a node port
    std::uint16_t port = 0;
    model::Protocol protocol = model::Protocol::tcp;
    auto operator<=>(const Key&) const = default;
  };
  using Keys = std::vector<Key>;

  // All keys that the Service lists, sorted, without duplicates.
  static Keys wanted(const model::Service& service, bool external_ips);

  // Replaces the keys of `service`, the object of which was `old` before this change; null: it had no keys. Appends to
  // `affected` the names of other Services that gain or lose an address. REQUIRES: `service` has the name of `old`.
  void change(const model::Service& service, const model::Service* old, const Keys& before, const Keys& now,
              std::vector<model::ObjectName>& affected);
  // After this call the current holder of an address keeps it, whatever its age.
  void keep_holders() { keeps_ = true; }

  // Sets the addresses of the API server, sorted. Returns the previous ones.
  std::vector<lib::SocketAddress> reserve(std::vector<lib::SocketAddress> addresses) {
    return std::exchange(reserved_, std::move(addresses));
  }
  const std::vector<lib::SocketAddress>& reserved() const { return reserved_; }

  // Null if no Service lists `key`.
  const model::Service* holder(const Key& key) const;

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      return std::hash<lib::IpAddress>()(key.address) * 31 +
             (std::size_t{key.port} << 8 | static_cast<std::size_t>(key.protocol));
    }
  };
  // A claim to a key: of two, the lower one has precedence. Kept by value, because the object of a Service changes.
  struct Claim {
    bool foreign;          // the address is no cluster IP of the Service
    std::int64_t created;
    const model::Service* service;  // for its name, which does not change

    Claim(const Key& key, const model::Service& of, const model::Service& at);
    bool operator<(const Claim& other) const;
  };
  using Names = std::vector<model::ObjectName>;

  void want(const Key& key, const model::Service& service, const model::Service* old, Names& affected);
  void release(const Key& key, const model::Service& service, const model::Service* old, Names& affected);

  std::unordered_map<Key, const model::Service*, Hash> holders_;
  // A tenant can make any number of Services list one address, so finding the first one must not depend on their number.
  std::unordered_map<Key, std::set<Claim>, Hash> waiting_;
  bool keeps_ = false;
  std::vector<lib::SocketAddress> reserved_;
};

}  // namespace sluice::store
