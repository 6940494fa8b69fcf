// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One transaction of nf_tables as a value: what it is to do, not how that is written. Either all of it happens or
// nothing does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/nftables/layout/rule.hpp"
#include "plugins/nftables/layout/set_spec.hpp"
#include "plugins/nftables/values.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

// Whose element it is, as an index into Batch::owners. 0 is nobody: a refusal concerns everybody.
using Owner = std::uint32_t;

struct ElementWrite {
  Record record;        // data is not looked at where it is removed
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
  bool create = false;  // otherwise it is there and its rules are replaced
};

// Of map affinity: a client that is remembered, with the token of an endpoint.
struct RememberedClient {
  std::uint32_t id = 0;
  abi::Address client{};
  std::uint32_t token = 0;
  std::uint32_t seconds = 0;    // how long the service port remembers; not known where it was listed
  std::uint32_t remaining = 0;  // seconds, at most those
};

// Carried out in the order of its members; removals of elements before additions, so that an element is
// replaced by removing it and adding it in one batch.
struct Batch {
  bool delete_table = false;                // with everything in it; it is there
  bool create_table = false;
  std::vector<SetSpec> create_sets;
  std::vector<ChainWrite> chains;           // referred to by later ones only
  std::vector<DispatchWrite> dispatch;
  std::vector<ElementWrite> elements;
  std::vector<RememberedClient> clients;    // added; of those the kernel knows none has another token
  std::vector<std::string> remove_chains;   // nothing points to them any more
  std::vector<std::string> owners{std::string()};  // printed names
  bool empty() const noexcept {
    return !delete_table && !create_table && create_sets.empty() && chains.empty() && dispatch.empty() && elements.empty() &&
           clients.empty() && remove_chains.empty();
  }
};

struct Refusal {
  Owner owner = 0;
  int error = 0;      // errno
  std::string what;   // "element 172.30.0.41:80/tcp of service-treatments", "rule 2 of chain services"
};

}  // namespace sluice::nftables
