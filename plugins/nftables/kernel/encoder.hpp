// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A batch as one datagram of netlink, and the way back from a message in it to what it was about. Pure; any thread.
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

// What follows nlmsghdr in a question outside of any batch. `attributes` as AttributeWriter makes them.
std::string make_question_body(abi::Family family, std::string_view attributes);
std::uint16_t message_type(int message) noexcept;  // of NFT_MSG_…

struct EncodeOptions {
  std::string table;
  std::uint32_t sequence = 1;  // of the first message; the others follow
  // Without an end the kernel takes it all, checks it all, and lets it all go again.
  bool with_end = true;
  // Elements, by their position in Encoded::order, that go into a message of their own: what is refused is known then
  // whatever the kernel tells.
  const std::vector<bool>* alone = nullptr;
};

struct Encoded {
  enum class Kind : std::uint8_t { kDeleteTable, kCreateTable, kSet, kChain, kClear, kRule, kDispatch, kElements, kClients, kEmpty, kRemove };
  // One message.
  struct Part {
    Kind kind{};
    std::uint32_t index = 0;  // into the batch; of rules, the chain; of elements, the first in `order`; of clients, the first
    std::uint32_t count = 0;  // of rules, which one; of elements, how many
    std::size_t at = 0;       // in `bytes`
  };
  std::string bytes;
  std::uint32_t first = 0;      // sequence number of parts[0]; the one before is the beginning of the batch
  std::vector<Part> parts;      // the last one is acknowledged
  std::vector<std::uint32_t> order;  // of batch.elements: as they are sent

  std::uint32_t last() const noexcept { return first + static_cast<std::uint32_t>(parts.size()) - 1; }
  // The element in a part of them at this offset from the beginning of the message, as a position in `order`; the end of the part
  // where there is none.
  std::size_t element_at(const Part& part, std::size_t offset) const noexcept;
};

// REQUIRES: the batch is not empty.
Encoded encode(abi::Family family, const Batch& batch, const EncodeOptions& options);

// "rule 2 of chain services", "set endpoints". Of elements: "180 elements of endpoints", or the only one there is.
std::string describe(abi::Family family, const Batch& batch, const Encoded& encoded, const Encoded::Part& part);
// "element 172.30.0.41:80/tcp of service-treatments".
std::string describe(abi::Family family, const Record& record);
std::string set_name(abi::Family family, SetId id);

}  // namespace sluice::nftables
