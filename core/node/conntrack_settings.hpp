// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The connection tracking settings that are applied at start (BEH 9.2).
#pragma once

#include <chrono>

namespace sluice::node {

struct ConntrackSettings {
  int max_per_core = 32768;  // entries per processor; 0 keeps the size of the table
  int min = 131072;          // minimum number of entries, unless max_per_core is 0
  // 0 keeps the value of the kernel.
  std::chrono::nanoseconds tcp_established_timeout = std::chrono::hours(24);
  std::chrono::nanoseconds tcp_close_wait_timeout = std::chrono::hours(1);
  std::chrono::nanoseconds udp_timeout{0};
  std::chrono::nanoseconds udp_stream_timeout{0};
  bool tcp_be_liberal = false;  // false keeps the value of the kernel
  bool operator==(const ConntrackSettings&) const = default;
};

}  // namespace sluice::node
