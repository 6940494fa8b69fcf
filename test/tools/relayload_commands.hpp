// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sub-commands of relayload. Each receives its arguments and returns the exit status.
//
// The first byte of a connection selects the mode of the server. It also counts as data.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace relayload {

inline constexpr char kEcho = 'e';  // echoes every byte
inline constexpr char kUp = 'u';    // counts bytes; at the end sends the count, 8 bytes in host order
inline constexpr char kDown = 'd';  // sends until the client closes
inline constexpr char kBoth = 'b';  // sends and reads until the client ends

int serve(const std::vector<std::string>& words);
int throughput(const std::vector<std::string>& words);
int connections(const std::vector<std::string>& words);
int latency(const std::vector<std::string>& words);
int idle(const std::vector<std::string>& words);
int udp(const std::vector<std::string>& words);

// Set by SIGTERM and SIGINT.
extern volatile std::sig_atomic_t stop_requested;

}  // namespace relayload
