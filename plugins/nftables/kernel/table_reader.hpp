// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists our table from nf_tables. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netlink/socket.hpp"
#include "plugins/nftables/kernel/change_monitor.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

// Flags of a set with an element that the backend never writes, such as the catch-all element "*": the set has
// another shape, so the table is replaced.
inline constexpr std::uint32_t kForeignShape = ~std::uint32_t{0};

class TableReader {
 public:
  static constexpr int kTries = 5;  // minimum attempts if other processes change our table meanwhile
  static constexpr std::chrono::milliseconds kTryFor{1000};  // minimum duration of the attempts
  static constexpr int kChainTries = 10;  // attempts if any transaction interrupts the dump of the chains

  TableReader(abi::Family family, netlink::OpenRawSocket open, std::chrono::milliseconds timeout);

  // A consistent listing of the table. Throws sdk::Failure, kRetry if other processes keep changing it. Changes of
  // other tables do no harm, unless the notifications of one transaction overflow the socket.
  Listing list();
  // From the sets with counters; empty if there are none.
  std::vector<TrafficCount> traffic();

  // From map affinity; empty if it does not exist or has another shape.
  std::vector<RememberedClient> clients();

  // The interfaces of the flowtable; empty if there is no flowtable.
  std::optional<std::vector<std::string>> flowtable_interfaces();

  // The generation of nf_tables, which each transaction increments. Throws sdk::Failure.
  std::uint32_t generation();
  // As TableKernel::state(), without the notifications.
  std::optional<TableState> state();

 private:
  // Returns false if the table changed meanwhile.
  bool read(Listing& listing);
  bool read_table(Listing& listing, bool& dormant);
  bool read_sets(Listing& listing);
  bool read_chains(Listing& listing, bool dormant);
  bool read_rules(Listing& listing);
  bool read_dispatch(Listing& listing, bool firewall);
  bool read_records(Listing& listing, SetId id);
  // Calls take(attributes) for each element of a set. Returns false if the set does not exist.
  template <class Begin, class Take>
  bool read_elements(const std::string& set, const Begin& begin, const Take& take);
  template <class Begin, class Take>
  bool dump(int message, std::string_view attributes, const Begin& begin, const Take& take, bool* interrupted = nullptr);

  abi::Family family_;
  netlink::OpenRawSocket open_;
  std::chrono::milliseconds timeout_;
  netlink::Socket socket_;
  std::unique_ptr<ChangeMonitor> change_monitor_;  // during list()
  bool chains_in_doubt_ = false;  // the chains are valid unless a chain of another table was added or removed
};

// Whether the sets have the same key, data and flags.
bool same_shape(const SetSpec& a, const SetSpec& b) noexcept;

}  // namespace sluice::nftables
