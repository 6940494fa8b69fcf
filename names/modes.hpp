// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// kube-proxy's modes, which are also the backends of this project, and what all tables of names share. Several modes
// may make the same kernel object, so modes are bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace sluice::names {

using Modes = unsigned;
inline constexpr Modes kIptables = 1, kIpvs = 2, kNftables = 4, kUserspace = 8;
inline constexpr Modes kAllModes = kIptables | kIpvs | kNftables | kUserspace;

struct Mode {
  Modes bit;
  std::string_view id;  // in the configuration, and of the backend
};
inline constexpr std::array kModes = {Mode{kIptables, "iptables"}, Mode{kIpvs, "ipvs"}, Mode{kNftables, "nftables"},
                                      Mode{kUserspace, "userspace"}};

// 0 for a backend that is not a mode of kube-proxy.
constexpr Modes mode_of(std::string_view backend) noexcept {
  for (const Mode& mode : kModes) {
    if (mode.id == backend) return mode.bit;
  }
  return 0;
}

// The id of one mode.
constexpr std::string_view id_of(Modes mode) noexcept {
  for (const Mode& known : kModes) {
    if (known.bit == mode) return known.id;
  }
  return {};
}

// The programs that write an object under this name. Clean-up removes all of them.
enum class Writer : unsigned char {
  kBoth,       // kube-proxy and the backend
  kBackend,    // the backend; kube-proxy does not have this object
  kKubeProxy,  // kube-proxy, in some releases
};

// The rows of a table that the backend of one mode writes, in the order of the table. A row has `modes` and `writer`.
template <Modes kMode, const auto& kTable>
consteval auto written_by() {
  const auto writes = [](const auto& row) { return (row.modes & kMode) != 0 && row.writer != Writer::kKubeProxy; };
  constexpr auto count = static_cast<std::size_t>(std::count_if(kTable.begin(), kTable.end(), writes));
  std::array<typename std::remove_cvref_t<decltype(kTable)>::value_type, count> rows{};
  std::copy_if(kTable.begin(), kTable.end(), rows.begin(), writes);
  return rows;
}

}  // namespace sluice::names
