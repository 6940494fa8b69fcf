// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which virtual servers and addresses of kube-ipvs0 are ours, of those the kernel shows: what this process
// wrote, and what stands in our sets since an earlier one (docs/decisions/0020-ipvs.md). Everything else is somebody
// else's and stays, inside excludeCIDRs also where a Service wants it. Not the kernel's state: that is what the writers
// know.
#pragma once

#include <set>
#include <unordered_set>
#include <vector>

#include "plugins/ipvs/sets/set_writer.hpp"
#include "plugins/ipvs/values.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::ipvs {

class Ownership {
 public:
  // `excluded`: where an address alone does not make a virtual server ours (excludeCIDRs).
  explicit Ownership(std::vector<abi::Prefix> excluded) : excluded_(std::move(excluded)) {}

  // What the sets hold before anything is written, the addresses of kube-ipvs0, and those of other links.
  struct Shown {
    const SetWriter& sets;
    const std::set<abi::Address>& bound;
    const std::set<abi::Address>& local;
    bool sets_unread = false;  // whatever is bound on kube-ipvs0 counts as ours then: it goes with the link
  };
  bool is_ours(const ServerKey& key, const Shown& shown) const;
  bool is_ours(const abi::Address& address, const Shown& shown) const;
  bool is_excluded(const ServerKey& key) const;
  bool is_left_alone(const ServerKey& key) const { return left_alone_.contains(key); }

  // Somebody else's, inside excludeCIDRs: not ours as long as it is there, whatever our sets say later.
  void leave_alone(const ServerKey& key);
  // About to be written; gone for good.
  void writes(const ServerKey& key) { servers_.insert(key); }
  void wrote_off(const ServerKey& key) { servers_.erase(key); }
  void writes(const abi::Address& address) { addresses_.insert(address); }
  void wrote_off(const abi::Address& address) { addresses_.erase(address); }
  // What the kernel holds now, sorted: what somebody else has removed is not ours any more when it comes again.
  void keep_only(const std::vector<ServerKey>& servers, const std::set<abi::Address>& addresses);

 private:
  std::vector<abi::Prefix> excluded_;
  std::unordered_set<ServerKey, ServerKeyHash> servers_;
  std::unordered_set<ServerKey, ServerKeyHash> left_alone_;
  std::set<abi::Address> addresses_;
};

}  // namespace sluice::ipvs
