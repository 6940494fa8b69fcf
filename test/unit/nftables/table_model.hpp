// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The meaning of a table: an independent interpretation of its elements and of service ports, to compare the two.
// Follows BEH 3.3 without the code that makes the elements. Needs no test framework.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/nftables/model/model.hpp"
#include "sluice/abi/service.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::test {

// The origin of a connection. Pods of this node; the node itself.
enum class Client { kOutside, kPod, kNode };

struct Outcome {
  enum class Kind { kNothing, kBalanced, kRejected, kDropped };
  Kind kind = Kind::kNothing;
  std::vector<nftables::EndpointAddress> endpoints;  // sorted; with equal probability
  bool masqueraded = false;                          // by the frontend; rules for cluster IPs may masquerade, too
  std::uint32_t sticky_seconds = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
std::string to_string(abi::Family family, const Outcome& outcome);

// Clients that may use a frontend; empty: all clients. Sorted.
using Firewall = std::vector<abi::Prefix>;

// Elements and shared chains, as listed or as wanted.
class TableModel {
 public:
  // `chains`: with numbers and service classes. A chain that is missing in it is not in service-chains.
  TableModel(abi::Family family, const std::vector<nftables::Record>& records,
             const std::vector<nftables::SharedChain>& chains);

  Outcome ask(Client client, const nftables::FrontendKey& frontend) const;
  Firewall firewall(const nftables::FrontendKey& frontend) const;
  bool has_cluster_ip(const abi::Address& address) const;
  bool is_hairpin(const nftables::EndpointAddress& endpoint, abi::Protocol protocol) const;

  // Faults whatever Services want: slots with holes, numbers without a chain, unused elements, duplicate keys, chains
  // before the chains they refer to. One sentence each.
  std::vector<std::string> faults() const;

 private:
  std::optional<nftables::Data> find(nftables::SetId set, const nftables::Key& key) const;
  const nftables::SharedChain* chain_of(const nftables::FrontendKey& frontend) const;
  std::vector<nftables::EndpointAddress> balanced(const nftables::FrontendKey& frontend,
                                                  const nftables::ServiceClass& service_class, bool local,
                                                  std::vector<std::string>* faults) const;

  abi::Family family_;
  using Place = std::pair<nftables::SetId, nftables::Key>;
  struct Hash {
    std::size_t operator()(const Place& place) const noexcept;
  };

  std::unordered_map<Place, nftables::Data, Hash> elements_;
  std::map<std::pair<bool, std::uint32_t>, nftables::SharedChain> chains_;
  std::vector<std::string> doubled_;
};

// The same for a service port that owns the frontend. `node_ip`: for source ranges.
Outcome wanted_outcome(const abi::ServicePort& port, Client client, const abi::Frontend& frontend);
Firewall wanted_firewall(abi::Family family, const abi::ServicePort& port, const abi::Address& node_ip,
                         const abi::Frontend& frontend);
nftables::FrontendKey frontend_of(const abi::ServicePort& port, const abi::Frontend& frontend);

}  // namespace sluice::test
