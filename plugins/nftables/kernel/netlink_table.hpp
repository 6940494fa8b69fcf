// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table in nf_tables of this node, over netlink.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/common/netlink/socket.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/kernel/table_reader.hpp"
#include "plugins/nftables/kernel/transaction.hpp"

namespace sluice::nftables {

class NetlinkTable final : public TableKernel {
 public:
  // Timeout of one answer. The kernel completes a transaction within send().
  static constexpr std::chrono::milliseconds kTimeout{5000};
  // From this number of writes in one transaction on, notifications are switched off meanwhile: the kernel builds one
  // for each element before it filters them. Adding 100,000 elements (6.18, CPU time of the sender, median and best
  // of 7) takes 609 and 380 ms with a listener, 337 and 204 ms without. The cost is two requests for the generation.
  static constexpr std::uint64_t kMuteThreshold = 2000;

  // `open` opens NETLINK_NETFILTER sockets: one to write, one to read, and a third during a listing. `own` receives the
  // port ID of the writer.
  NetlinkTable(abi::Family family, netlink::OpenRawSocket open, std::shared_ptr<OwnSenders> own,
               std::chrono::milliseconds timeout = kTimeout);

  Listing list() override;
  std::uint32_t generation() override;
  std::optional<TableState> state() override;
  std::vector<Refusal> commit(const Batch& batch) override;
  std::vector<Refusal> dry_run(const Batch& batch) override;
  std::vector<TrafficCount> traffic() override;
  std::vector<RememberedClient> clients() override;
  std::optional<std::vector<std::string>> flowtable_interfaces() override;
  bool delete_table() override;
  const KernelStatistics& statistics() const noexcept override;

 private:
  std::vector<Refusal> commit_muted(const Batch& batch);

  std::shared_ptr<OwnSenders> own_;
  TransactionSocket transactions_;
  TableReader reader_;
  mutable KernelStatistics statistics_;
};

}  // namespace sluice::nftables
