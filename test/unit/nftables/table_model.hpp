// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a table of ours means: an independent reading of its elements, and of service ports, against which it is held. Written
// after BEH 3.3, without the code that makes the elements. Needs no test framework.
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

// Where a connection comes from. Pods of this node; the node itself.
enum class Client { kOutside, kPod, kNode };

struct Outcome {
  enum class Kind { kNothing, kBalanced, kRejected, kDropped };
  Kind kind = Kind::kNothing;
  std::vector<nftables::EndpointAddress> endpoints;  // sorted; each with the same probability
  bool masqueraded = false;                          // by the frontend; rules for cluster IPs come on top
  std::uint32_t sticky_seconds = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};
std::string to_string(abi::Family family, const Outcome& outcome);

// Clients that may use it at all; empty: everybody. Sorted. Asked before anything else.
using Firewall = std::vector<abi::Prefix>;

// Elements and shared chains as they are in the kernel, or should be.
class TableModel {
 public:
  // `chains`: with numbers and treatments. One that is not in `chains` is not in service-chains.
  TableModel(abi::Family family, const std::vector<nftables::Record>& records,
             const std::vector<nftables::SharedChain>& chains);

  Outcome ask(Client client, const nftables::FrontendKey& frontend) const;
  Firewall firewall(const nftables::FrontendKey& frontend) const;
  bool has_cluster_ip(const abi::Address& address) const;
  bool is_hairpin(const nftables::EndpointAddress& endpoint, abi::Protocol protocol) const;

  // What must not be, whatever Services want: slots with holes, numbers that lead nowhere, elements nothing asks for, keys that
  // are there twice, chains before those they go to. One sentence each; empty when all is well.
  std::vector<std::string> faults() const;

 private:
  std::optional<nftables::Data> find(nftables::SetId set, const nftables::Key& key) const;
  const nftables::SharedChain* chain_of(const nftables::FrontendKey& frontend) const;
  std::vector<nftables::EndpointAddress> balanced(const nftables::FrontendKey& frontend,
                                                  const nftables::Treatment& treatment, bool local,
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

// The same from a service port that has the frontend. `node_ip`: for source ranges.
Outcome wanted_outcome(const abi::ServicePort& port, Client client, const abi::Frontend& frontend);
Firewall wanted_firewall(abi::Family family, const abi::ServicePort& port, const abi::Address& node_ip,
                         const abi::Frontend& frontend);
nftables::FrontendKey frontend_of(const abi::ServicePort& port, const abi::Frontend& frontend);

}  // namespace sluice::test
