// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sends batches to nf_tables and reads the answers. One thread at a time.
#pragma once

#include <linux/netlink.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netlink/socket.hpp"
#include "plugins/nftables/kernel/batch.hpp"
#include "plugins/nftables/kernel/encoder.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

class TransactionSocket {
 public:
  static constexpr int kTries = 5;  // attempts if the kernel asks for a retry
  // Maximum number of elements that are sent one by one to find the refused ones.
  static constexpr std::size_t kMostAlone = 4096;

  // `own` receives the port ID of the socket; it must not be null.
  TransactionSocket(abi::Family family, netlink::OpenRawSocket open, std::shared_ptr<OwnSenders> own,
                    std::chrono::milliseconds timeout);
  ~TransactionSocket() { close(); }
  TransactionSocket(const TransactionSocket&) = delete;
  TransactionSocket& operator=(const TransactionSocket&) = delete;

  enum class Mode { kCommit, kDryRun };
  // Sends `batch` as one transaction for table `table`. kDryRun: the kernel validates it without a commit. Returns
  // nothing on success. Throws sdk::Failure as TableKernel::commit() does. REQUIRES: the batch is not empty.
  std::vector<Refusal> run(const Batch& batch, const std::string& table, Mode mode);

  // Returns when listeners have the notifications of all transactions up to now. Throws sdk::Failure.
  void flush_notifications();

  std::uint64_t bytes() const noexcept { return bytes_; }  // sent

 private:
  struct Answer {
    std::uint32_t part = 0;
    int error = 0;
    std::uint32_t offset = 0;  // of the refused attribute; 0: unknown
  };
  struct Answers {
    int whole = 0;  // errno of the batch as a whole
    std::vector<Answer> refused;
  };

  Answers send_with_retry(const Batch& batch, EncodeOptions options, Encoded& encoded);
  Answers exchange(const Encoded& encoded);
  enum class Read { kMore, kAll, kBroken };
  Read read(std::string_view datagram, const Encoded& encoded, Answers& answers);
  bool take(const nlmsghdr* message, const Encoded& encoded, Answers& answers);
  void open();
  void close() noexcept;
  std::vector<Refusal> name_refusals(const Batch& batch, const std::string& table, const Encoded& encoded,
                                     const Answers& answers);

  abi::Family family_;
  netlink::OpenRawSocket open_;
  std::shared_ptr<OwnSenders> own_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<lib::netlink::RawSocket> socket_;
  std::vector<char> buffer_;
  std::uint32_t sequence_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace sluice::nftables
