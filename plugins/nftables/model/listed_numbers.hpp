// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Slots and affinity numbers that service ports have in a listing. The listing may have drifted: values that do not
// fit are ignored. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "plugins/nftables/elements.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/model/affinity.hpp"

namespace sluice::nftables {

class ListedNumbers {
 public:
  // `listing` must outlive this; its records are sorted.
  ListedNumbers(abi::Family family, const Listing& listing);

  // The service port that the elements of this frontend belong to, by their comment. kUnowned: there are no commented
  // elements.
  enum class Ownership { kUnowned, kThisServicePort, kOtherServicePort };
  Ownership ownership(const FrontendKey& frontend, std::string_view comment) const;

  // The endpoints by slot in the lists of these frontends, or of an affinity id; if they differ, the majority wins.
  // At most `length`; free slots are zero.
  std::vector<EndpointAddress> order(const std::vector<FrontendKey>& frontends, std::optional<std::uint32_t> affinity_id,
                                     bool local, std::size_t length) const;

  // The affinity id of these frontends. Of several ids, the one with most of `endpoints` (sorted); ids whose
  // endpoints are all unknown, or for which `is_free` is false, are ignored.
  std::optional<std::uint32_t> affinity_id(const std::vector<FrontendKey>& frontends,
                                           const std::vector<EndpointAddress>& endpoints,
                                           const std::function<bool(std::uint32_t)>& is_free) const;
  std::vector<AffinityTokens::Entry> tokens(std::uint32_t affinity_id) const;
  std::vector<std::uint32_t> affinity_ids() const;  // of all service ports

 private:
  struct Token {
    std::uint32_t token = 0;
    EndpointAddress endpoint;
  };
  using Order = std::vector<std::optional<EndpointAddress>>;

  const RecordTable& records(SetId set) const { return listing_.records[index(set)]; }
  void read_tokens(SetId set);
  std::vector<Token>::const_iterator find_token(std::uint32_t token) const;
  template <class Read>
  Order slots(SetId set, const Key& prefix, bool local, std::size_t length, Read&& read) const;

  abi::Family family_;
  const Listing& listing_;
  std::vector<Token> tokens_;  // sorted by token; of the list for policy Cluster first
};

}  // namespace sluice::nftables
