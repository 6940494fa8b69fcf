// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Counters of the relays. May be read from any thread; different counters are not read atomically.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::userspace {

// Only one thread writes a Counter, so writes need no locked instruction.
class Counter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void subtract(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) - n, std::memory_order_relaxed);
  }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// One per thread.
struct ThreadStatistics {
  // TCP.
  Counter accepted;
  Counter open;               // gauge: accepted and not yet ended
  Counter refused_no_endpoint;  // closed at once: no endpoints
  Counter failed_all_dials;     // closed: no endpoint answered
  Counter dials;
  Counter dials_failed;       // each attempt
  // TCP dials and UDP clients, by the address that the endpoint sees.
  Counter clients_kept;
  Counter clients_hidden;  // the node's, as in iptables mode
  Counter clients_lost;    // the node's, because the client's could not be used
  Counter bytes_to_endpoint;
  Counter bytes_to_client;
  Counter ended_reset;  // reset by the client or the endpoint
  Counter ended_idle;
  Counter ended_drained;       // reset because its endpoint was removed
  Counter pauses_descriptors;  // accept paused: no file descriptors
  Counter pauses_memory;
  Counter pauses_ports;
  Counter pauses_limit;       // max_connections
  Counter paused;             // gauge: 1 while this thread accepts nothing
  Counter pipes;              // gauge: open, in use or kept
  // UDP.
  Counter udp_clients;        // gauge
  Counter udp_clients_opened;
  Counter udp_clients_evicted;
  Counter udp_clients_expired;
  Counter udp_to_endpoint;    // datagrams
  Counter udp_to_client;
  Counter udp_bytes_to_endpoint;
  Counter udp_bytes_to_client;
  Counter udp_dropped_no_endpoint;
  Counter udp_dropped_full;   // a socket buffer was full, or no descriptor for a new client
  Counter udp_errors;         // ICMP and other errors of endpoints
};

}  // namespace sluice::userspace
