// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sub-commands of relayload. Each takes the words after its name and returns the exit status.
//
// The server does as the first byte of a connection says; the byte counts as one like all others.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace relayload {

inline constexpr char kEcho = 'e';  // every byte comes back
inline constexpr char kUp = 'u';    // what comes is counted; after the end the count is sent, 8 bytes of host order
inline constexpr char kDown = 'd';  // sends until the client closes
inline constexpr char kBoth = 'b';  // sends and reads at once, and ends when the client has ended

int serve(const std::vector<std::string>& words);
int throughput(const std::vector<std::string>& words);
int connections(const std::vector<std::string>& words);
int latency(const std::vector<std::string>& words);
int idle(const std::vector<std::string>& words);
int udp(const std::vector<std::string>& words);

// Set by SIGTERM and SIGINT.
extern volatile std::sig_atomic_t stop_requested;

}  // namespace relayload
