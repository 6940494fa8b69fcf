// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One transaction of nf_tables as a value, independent of its encoding. It is atomic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/nftables/elements.hpp"
#include "plugins/nftables/layout/rule.hpp"
#include "plugins/nftables/layout/set_spec.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

// The service port that an element belongs to, as an index into Batch::owners. 0: no service port; its refusal fails
// the sync.
using Owner = std::uint32_t;

struct ElementWrite {
  Record record;  // its data is ignored in removals
  bool remove = false;
  Owner owner = 0;
  std::string comment;  // shown by nft; may be empty
};

// An element of service-chains or firewall-chains.
struct DispatchWrite {
  bool firewall = false;
  std::uint32_t number = 0;
  std::string chain;
  bool remove = false;
};

struct ChainWrite {
  ChainSpec spec;
  bool create = false;  // false: the chain exists and its rules are replaced
};

// An element of map affinity: a client, and the token of its endpoint.
struct RememberedClient {
  std::uint32_t id = 0;
  abi::Address client{};
  std::uint32_t token = 0;
  std::uint32_t seconds = 0;    // the service port's timeout; unknown if listed
  std::uint32_t remaining = 0;  // seconds until it expires, at most `seconds`
};

// Written in the order of the members, removals of elements before additions: an element is replaced by removing and
// adding it in one batch.
struct Batch {
  bool delete_table = false;  // with its content; it must exist
  bool create_table = false;
  std::vector<SetSpec> create_sets;
  bool create_flowtable = false;  // without interfaces; may exist
  std::vector<ChainWrite> chains;  // each refers to earlier ones only
  std::vector<DispatchWrite> dispatch;
  std::vector<ElementWrite> elements;
  std::vector<RememberedClient> clients;           // added; an element that exists must have the same token
  std::vector<std::string> remove_chains;          // no longer referenced
  std::vector<std::string> remove_interfaces;      // of the flowtable
  std::vector<std::string> add_interfaces;         // to the flowtable; those it has already are ignored
  std::vector<std::string> owners{std::string()};  // printed names
  bool empty() const noexcept {
    return !delete_table && !create_table && create_sets.empty() && !create_flowtable && chains.empty() && dispatch.empty() && elements.empty() &&
           clients.empty() && remove_chains.empty() && remove_interfaces.empty() && add_interfaces.empty();
  }
};

struct Refusal {
  Owner owner = 0;
  int error = 0;      // errno
  std::string what;   // "element 10.0.0.1 of cluster-ips", "rule 2 of chain services"
};

}  // namespace sluice::nftables
