// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Batches sent to nf_tables, and what it says to them. One thread at a time.
#pragma once

#include <linux/netlink.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netlink/wire.hpp"
#include "plugins/nftables/kernel/batch.hpp"
#include "plugins/nftables/kernel/encoder.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

class TransactionSocket {
 public:
  static constexpr int kTries = 5;  // when the kernel asks for another one
  // Elements that are asked about one by one at most, when messages full of them are refused.
  static constexpr std::size_t kMostAlone = 4096;

  // `own` is told of the port; never null.
  TransactionSocket(abi::Family family, netlink::OpenWire open, std::shared_ptr<OwnSenders> own,
                    std::chrono::milliseconds patience);
  ~TransactionSocket() { close(); }
  TransactionSocket(const TransactionSocket&) = delete;
  TransactionSocket& operator=(const TransactionSocket&) = delete;

  enum class Fate { kCarriedOut, kForgotten };
  // Everything of `batch` in one transaction under the name `table`. kForgotten: the kernel checks all of it and lets it go. Empty: it
  // was accepted. Throws sdk::Failure as TableKernel::commit() does. REQUIRES: the batch is not empty.
  std::vector<Refusal> run(const Batch& batch, const std::string& table, Fate fate);

  // Returns when all transactions that nf_tables counts by now have been told to who listens. Throws sdk::Failure.
  void wait_for_others();

  std::uint64_t bytes() const noexcept { return bytes_; }  // sent

 private:
  struct Answer {
    std::uint32_t part = 0;
    int error = 0;
    std::uint32_t offset = 0;  // of the attribute that was refused; 0: unknown
  };
  struct Answers {
    int whole = 0;  // errno of the batch as such
    std::vector<Answer> refused;
  };

  Answers ask(const Batch& batch, EncodeOptions options, Encoded& encoded);
  Answers exchange(const Encoded& encoded);
  enum class Read { kMore, kAll, kBroken };
  Read read(std::string_view datagram, const Encoded& encoded, Answers& answers);
  bool take(const nlmsghdr* message, const Encoded& encoded, Answers& answers);
  void open();
  void close() noexcept;
  std::vector<Refusal> name(const Batch& batch, const std::string& table, const Encoded& encoded, const Answers& answers);

  abi::Family family_;
  netlink::OpenWire open_;
  std::shared_ptr<OwnSenders> own_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<netlink::Wire> wire_;
  std::vector<char> buffer_;
  std::uint32_t sequence_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace sluice::nftables
