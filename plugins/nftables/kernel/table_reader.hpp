// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Our table as nf_tables tells it, decoded. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netlink/socket.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/kernel/onlooker.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

class TableReader {
 public:
  static constexpr int kTries = 5;  // at least, when somebody changes our table meanwhile
  static constexpr std::chrono::milliseconds kTryFor{1000};  // and as long
  static constexpr int kChainTries = 10;  // when somebody changes anything within the millisecond that chains take

  TableReader(abi::Family family, netlink::OpenWire open, std::chrono::milliseconds patience);

  // Everything in it, as it was at one time. Throws sdk::Failure, kRetry when somebody kept changing it; what others do to other
  // tables does not matter, unless one transaction of theirs is so large that its notifications do not fit into a socket.
  Listing list();
  // Of the sets with counters; empty where they are not.
  std::vector<TrafficCount> traffic();

  // Of map affinity; empty where it is not, or has another shape.
  std::vector<RememberedClient> clients();

  // Of all tables of nf_tables; each transaction makes the next one. Throws sdk::Failure.
  std::uint32_t generation();

 private:
  // False: it changed meanwhile.
  bool read(Listing& listing);
  bool read_table(Listing& listing, bool& dormant);
  bool read_sets(Listing& listing);
  bool read_chains(Listing& listing, bool dormant);
  bool read_rules(Listing& listing);
  bool read_dispatch(Listing& listing, bool firewall);
  bool read_records(Listing& listing, SetId id);
  // take(attributes of one element) for all of a set. False: it is not there.
  template <class Begin, class Take>
  bool read_elements(const std::string& set, const Begin& begin, const Take& take);
  template <class Begin, class Take>
  bool dump(int message, std::string_view attributes, const Begin& begin, const Take& take, bool* interrupted = nullptr);

  abi::Family family_;
  netlink::OpenWire open_;
  std::chrono::milliseconds patience_;
  netlink::Socket socket_;
  std::unique_ptr<Onlooker> onlooker_;  // of list()
  bool chains_in_doubt_ = false;        // they are those of our table if no chain of another one came or went
};

// Whether elements of one are elements of the other.
bool same_shape(const SetSpec& a, const SetSpec& b) noexcept;

}  // namespace sluice::nftables
