// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Userdata that nft stores with sets for its own listings: byte orders, the expressions behind `typeof`, and the
// comment. The kernel does not interpret it. In nft's format, so that its listings can be loaded again. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/abi/types.hpp"

namespace sluice::nftables {

// One component of a key or of data, as nft lists it: "ip daddr", "meta l4proto", "numgen random mod 65536".
enum class TypeofPart : std::uint8_t {
  kDestination,  // address, of the family
  kPort,         // th dport
  kProtocol,     // meta l4proto
  kPriority,     // meta priority
  kSlot,         // numgen random mod 65536: an integer of 32 bits
};

// The description of a key or data type for nft.
struct NftType {
  // Expressions; more than one form a concatenation. Empty: the type number is sufficient.
  std::vector<TypeofPart> parts;
  bool concatenated = false;     // several components; `parts` may be empty then, too
  std::uint32_t byte_order = 0;  // kHostOrder …; 0 for concatenations
};
inline constexpr std::uint32_t kHostOrder = 1;
inline constexpr std::uint32_t kNetworkOrder = 2;

// `data` is null for sets.
std::string set_userdata(abi::Family family, const NftType& key, const NftType* data, std::string_view comment);

// The userdata of a rule or an element: only a comment.
std::string comment_userdata(std::string_view comment);
// The comment in the userdata; empty if there is none.
std::string read_comment(const void* userdata, std::size_t size);

}  // namespace sluice::nftables
