// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Contents of the sets of BEH 6.7, and of one more; names/sets.hpp has their names and types. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "names/sets.hpp"
#include "sluice/abi/types.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::ipvs {

using names::SetId;
using names::SetType;
inline constexpr auto kOwnedSets = names::written_by<names::kIpvs, names::kSets>();
inline constexpr std::size_t kSets = kOwnedSets.size();

struct SetSpec {
  SetId id;
  SetType type;
  std::string_view comment;  // of the rules that use it
};
const SetSpec& spec(SetId id) noexcept;
std::array<SetId, kSets> all_sets() noexcept;

// See names/sets.hpp.
std::string set_name(SetId id, abi::Family family);
// Name of the temporary set that is filled and swapped in; differs from all other names.
std::string temporary_name(SetId id, abi::Family family);
// "hash:ip,port,ip", …
std::string_view type_name(SetType type) noexcept;

// One entry of any set; fields that its type does not have are zero. kIpPortIp and kIpPortNet use `other` with
// `other_length` bits (32 or 128 for kIpPortIp); the remaining bits are zero. The kernel has no networks of length 0:
// two of length 1 replace one.
struct SetEntry {
  abi::Address address{};
  abi::Address other{};
  std::uint16_t port = 0;
  abi::Protocol protocol{};  // 0 if the type has none
  std::uint8_t other_length = 0;
  bool operator==(const SetEntry& o) const noexcept {
    return address == o.address && other == o.other && port == o.port && protocol == o.protocol &&
           other_length == o.other_length;
  }
  bool operator<(const SetEntry& o) const noexcept {
    if (address != o.address) return address < o.address;
    if (port != o.port) return port < o.port;
    if (protocol != o.protocol) return protocol < o.protocol;
    if (other != o.other) return other < o.other;
    return other_length < o.other_length;
  }
};
struct SetEntryHash {
  std::size_t operator()(const SetEntry& entry) const noexcept;
};

// As ipset prints it: "10.0.0.1,tcp:80,10.0.0.0/8", "30001".
std::string to_string(const SetEntry& entry, SetType type, abi::Family family);

// One entry in one set.
struct SetItem {
  SetId set{};
  SetEntry entry;
  bool operator==(const SetItem& o) const noexcept { return set == o.set && entry == o.entry; }
  bool operator<(const SetItem& o) const noexcept { return set != o.set ? set < o.set : entry < o.entry; }
};

}  // namespace sluice::ipvs
