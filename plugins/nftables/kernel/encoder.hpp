// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Encodes a batch as one netlink datagram, and maps a message in it back to the object it is about. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nftables/kernel/batch.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

std::uint8_t protocol_family(abi::Family family) noexcept;  // NFPROTO_…

// The part of a request outside of a batch that follows nlmsghdr. `attributes` is made by AttributeWriter.
std::string make_request_body(abi::Family family, std::string_view attributes);
std::uint16_t message_type(int message) noexcept;  // of NFT_MSG_…

struct EncodeOptions {
  std::string table;
  std::uint32_t sequence = 1;  // of the first message
  // Without an end message the kernel validates the batch and aborts it.
  bool with_end = true;
  // Positions in Encoded::order of elements that get a message of their own, so that a refusal identifies the
  // element.
  const std::vector<bool>* alone = nullptr;
};

struct Encoded {
  enum class Kind : std::uint8_t { kDeleteTable, kCreateTable, kSet, kFlowtable, kChain, kClear, kRule, kDispatch, kElements, kClients, kEmpty, kRemove, kRemoveInterfaces, kAddInterfaces };
  // One message.
  struct Part {
    Kind kind{};
    std::uint32_t index = 0;  // into the batch; the chain of a rule; the first element in `order`; the first client
    std::uint32_t count = 0;  // the rule's position; the number of elements or clients
    std::size_t at = 0;       // offset in `bytes`
  };
  std::string bytes;
  std::uint32_t first = 0;      // sequence number of parts[0]; the batch begin message has the one before
  std::vector<Part> parts;      // the last one is acknowledged
  std::vector<std::uint32_t> order;  // positions in batch.elements, in the order of sending

  std::uint32_t last() const noexcept { return first + static_cast<std::uint32_t>(parts.size()) - 1; }
  // The element at `offset` from the beginning of the message, as a position in `order`; the end of the part if there
  // is none.
  std::size_t element_at(const Part& part, std::size_t offset) const noexcept;
};

// REQUIRES: the batch is not empty.
Encoded encode(abi::Family family, const Batch& batch, const EncodeOptions& options);

// "rule 2 of chain services", "set endpoints"; for elements "180 elements of endpoints", or the single element.
std::string describe(abi::Family family, const Batch& batch, const Encoded& encoded, const Encoded::Part& part);
// "element 10.0.0.1 of cluster-ips".
std::string describe(abi::Family family, const Record& record);
// "table ip kube-proxy".
std::string table_text(abi::Family family);
std::string set_name(abi::Family family, SetId id);

}  // namespace sluice::nftables
