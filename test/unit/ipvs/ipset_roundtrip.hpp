// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Shared by the checks of sets on a real kernel. One thread, except for entry() and items().
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "plugins/ipvs/sets/set_spec.hpp"

namespace sluice::test {

class SetTap {
 public:
  void check(bool good, const std::string& what, const std::string& why = "") {
    std::printf("%s %d - %s\n", good ? "ok" : "not ok", ++count_, what.c_str());
    if (!good && !why.empty()) std::printf("# %s\n", why.c_str());
    failed_ = failed_ || !good;
    std::fflush(stdout);
  }
  int finish() const {
    std::printf("1..%d\n", count_);
    return failed_ ? 1 : 0;
  }

 private:
  int count_ = 0;
  bool failed_ = false;
};

// The n-th entry of a set; entries of different n differ.
inline ipvs::SetEntry nth_entry(ipvs::SetId set, abi::Family family, std::uint32_t n) {
  using ipvs::SetType;
  const std::size_t bytes = sdk::address_bytes(family);
  const auto address = [&](std::uint32_t number) {
    abi::Address made{{static_cast<std::uint8_t>(family == abi::Family::kIpv6 ? 0xfd : 10)}};
    for (std::size_t i = 0; i < 3; ++i) made.bytes[bytes - 1 - i] = static_cast<std::uint8_t>(number >> 8 * i);
    return made;
  };
  const SetType type = ipvs::spec(set).type;
  ipvs::SetEntry entry;
  if (type != SetType::kIp) entry.port = static_cast<std::uint16_t>(type == SetType::kPorts ? n : 1 + n % 60000);
  if (type == SetType::kPorts) return entry;
  entry.address = address(n + 1);
  if (type == SetType::kIp) return entry;
  constexpr abi::Protocol kProtocols[] = {abi::Protocol::kTcp, abi::Protocol::kUdp, abi::Protocol::kSctp};
  entry.protocol = kProtocols[n % 3];
  if (type == SetType::kIpPort) return entry;
  const auto bits = static_cast<unsigned>(bytes * 8);
  entry.other = entry.address;
  entry.other_length = static_cast<std::uint8_t>(bits);
  if (type == SetType::kIpPortIp || n % 3 == 0) return entry;
  entry.other = n % 3 == 1 ? abi::Address{{0x80}} : address(n & 0xffff00U);
  entry.other_length = static_cast<std::uint8_t>(n % 3 == 1 ? 1 : bits - 8);
  return entry;
}

inline std::vector<ipvs::SetItem> nth_items(ipvs::SetId set, abi::Family family, std::uint32_t from, std::uint32_t to) {
  std::vector<ipvs::SetItem> made;
  for (std::uint32_t n = from; n < to; ++n) made.push_back({set, nth_entry(set, family, n)});
  return made;
}

// Two threads, one per family, change and read sets for some seconds; in the second round system calls fail and
// answers are lost.
int check_both_families();

// Makes the next acknowledgement of the kernel an error.
void refuse_next(int error);

}  // namespace sluice::test
