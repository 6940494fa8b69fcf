// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend's own settings, read once from the flattened options. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/abi/types.hpp"

namespace sluice::ipvs {

// What happens to established TCP connections to an endpoint that is removed.
enum class WhenRemoved {
  kKeep,   // no new ones; established ones may end by themselves (kube-proxy)
  kDrain,  // the same, but for at most `drain`
  kReset,  // removed at once
};

struct Settings {
  std::string scheduler = "rr";            // BEH 6.3; the kernel decides which exist
  std::vector<abi::Prefix> exclude_cidrs;  // of this family: virtual servers in them are never changed
  bool strict_arp = false;
  std::chrono::seconds tcp_timeout{0};  // of IPVS, node-wide; 0: the kernel's default
  std::chrono::seconds tcp_fin_timeout{0};
  std::chrono::seconds udp_timeout{0};
  WhenRemoved when_removed = WhenRemoved::kKeep;
  std::chrono::seconds drain{30};
};

// `given`: CreateArgs::options. Throws sdk::Failure (kInvalid) whose object is the key, if it is unknown, malformed or out
// of range.
Settings read_settings(const abi::ArrayView& given, abi::Family family);

}  // namespace sluice::ipvs
