// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the kernel is told about connection tracking at start (BEH 9.2).
#pragma once

#include <chrono>

namespace sluice::node {

struct ConntrackSettings {
  int max_per_core = 32768;  // entries for each processor; 0 leaves the table as large as it is
  int min = 131072;          // entries at least, where max_per_core is not 0
  // 0 leaves what the kernel has.
  std::chrono::nanoseconds tcp_established_timeout = std::chrono::hours(24);
  std::chrono::nanoseconds tcp_close_wait_timeout = std::chrono::hours(1);
  std::chrono::nanoseconds udp_timeout{0};
  std::chrono::nanoseconds udp_stream_timeout{0};
  bool tcp_be_liberal = false;  // false leaves what the kernel has
  bool operator==(const ConntrackSettings&) const = default;
};

}  // namespace sluice::node
