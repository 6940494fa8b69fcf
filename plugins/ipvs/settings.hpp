// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend's own settings, read once from the flattened options. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/settings/table.hpp"
#include "sluice/abi/types.hpp"
#include "sluice/sdk/options.hpp"

namespace sluice::ipvs {

// What becomes of established TCP connections to an endpoint that is not wanted any more.
enum class WhenRemoved {
  kKeep,   // it gets no new ones and stays until the last one has ended (kube-proxy)
  kDrain,  // the same, but for `drain` at the longest
  kReset,  // it goes at once
};

struct Settings {
  std::string scheduler = "rr";                  // BEH 6.3; the kernel decides what there is
  std::vector<abi::Prefix> exclude_cidrs;        // of this family: virtual servers in them are never touched
  bool strict_arp = false;
  std::chrono::seconds tcp_timeout{0};           // of IPVS, of the whole node; 0: what the kernel has
  std::chrono::seconds tcp_fin_timeout{0};
  std::chrono::seconds udp_timeout{0};
  WhenRemoved when_removed = WhenRemoved::kKeep;
  std::chrono::seconds drain{30};
};

// Throws sdk::Failure (kInvalid) whose object is the key: unknown, malformed or out of range, and what is allowed.
Settings read_settings(const sdk::Options& options, abi::Family family);

// One key read_settings() knows, for tests and the documentation.
using SettingKey = settings::Key;
std::vector<SettingKey> setting_keys();

}  // namespace sluice::ipvs
