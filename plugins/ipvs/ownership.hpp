// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decides which virtual servers and addresses of kube-ipvs0 are ours: those this process wrote, and those that an
// earlier process recorded in our sets (docs/decisions/0020-ipvs.md). Everything else is foreign and stays; inside
// excludeCIDRs also if a Service wants it. The writers, not this class, keep the kernel's state.
#pragma once

#include <set>
#include <unordered_set>
#include <vector>

#include "plugins/ipvs/server_types.hpp"
#include "plugins/ipvs/sets/set_writer.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::ipvs {

class Ownership {
 public:
  // `excluded`: excludeCIDRs; there an address alone does not make a virtual server ours.
  explicit Ownership(std::vector<abi::Prefix> excluded) : excluded_(std::move(excluded)) {}

  // The sets as read before any write, the addresses of kube-ipvs0, and those of other links.
  struct Evidence {
    const SetWriter& sets;
    const std::set<abi::Address>& bound;
    const std::set<abi::Address>& local;
    bool sets_unread = false;  // then everything bound on kube-ipvs0 counts as ours, because it goes with the link
  };
  bool is_ours(const ServerKey& key, const Evidence& evidence) const;
  bool is_ours(const abi::Address& address, const Evidence& evidence) const;
  bool is_excluded(const ServerKey& key) const;
  bool is_foreign(const ServerKey& key) const { return foreign_.contains(key); }

  // Foreign, inside excludeCIDRs: not ours while it exists, whatever our sets say later.
  void mark_foreign(const ServerKey& key);
  // Call add() before a write and remove() after a removal.
  void add(const ServerKey& key) { servers_.insert(key); }
  void remove(const ServerKey& key) { servers_.erase(key); }
  void add(const abi::Address& address) { addresses_.insert(address); }
  void remove(const abi::Address& address) { addresses_.erase(address); }
  // Forgets what the kernel does not hold (sorted): an object that another process removed is not ours when it
  // returns.
  void keep_only(const std::vector<ServerKey>& servers, const std::set<abi::Address>& addresses);

 private:
  std::vector<abi::Prefix> excluded_;
  std::unordered_set<ServerKey, ServerKeyHash> servers_;
  std::unordered_set<ServerKey, ServerKeyHash> foreign_;
  std::set<abi::Address> addresses_;
};

}  // namespace sluice::ipvs
