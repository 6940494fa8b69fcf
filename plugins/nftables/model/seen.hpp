// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Numbers the kernel has, read from a listing for one service port after the other. It may be damaged: nothing in it is
// believed that does not fit. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/model/affinity.hpp"
#include "plugins/nftables/values.hpp"

namespace sluice::nftables {

class Seen {
 public:
  // `listing` is borrowed; its records are sorted.
  Seen(abi::Family family, const Listing& listing);

  // Whose the elements of this frontend are, by their comment. None: there are none that have one.
  enum class Whose { kNobodys, kMine, kAnothers };
  Whose whose(const FrontendKey& frontend, std::string_view comment) const;

  // The order of endpoints in the lists of these frontends, or of an affinity id; where they differ, that of most. At
  // most `length`; places nobody has are zero.
  std::vector<EndpointAddress> order(const std::vector<FrontendKey>& frontends, std::optional<std::uint32_t> affinity_id,
                                     bool local, std::size_t length) const;

  // The id these frontends have. `endpoints`: sorted; of several ids the one that knows most of them, and none that knows others
  // only. Nor one for which `is_free` is false.
  std::optional<std::uint32_t> affinity_id(const std::vector<FrontendKey>& frontends,
                                           const std::vector<EndpointAddress>& endpoints,
                                           const std::function<bool(std::uint32_t)>& is_free) const;
  std::vector<AffinityTokens::Entry> tokens(std::uint32_t affinity_id) const;
  std::vector<std::uint32_t> affinity_ids() const;  // whoever has them

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
