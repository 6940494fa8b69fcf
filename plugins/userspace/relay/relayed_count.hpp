// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Counts the connections and UDP flows that one backend relays now, in a memory-mapped file: if this
// process is killed, the next one reports how many were lost. Each thread has its own counters.
//
// The file is locked while its backend exists. A file without a lock was left by a backend that has
// ended; a locked file belongs to another backend of this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/fd.hpp"
#include "plugins/userspace/relay/statistics.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

struct RelayedNow {
  std::uint64_t connections = 0;  // TCP
  std::uint64_t flows = 0;        // UDP clients
  bool any() const noexcept { return connections != 0 || flows != 0; }
};

class RelayedCount {
 public:
  // Written by one thread each.
  struct alignas(64) ThreadCounts {
    Counter connections;  // gauge
    Counter flows;        // gauge
    Counter datagrams;    // total received from clients and endpoints
  };

  // Counts in a file in `folder`. If that is empty or the file cannot be created, counts in memory only, and problem()
  // says why.
  RelayedCount(unsigned threads, const std::string& folder, abi::Family family);
  ~RelayedCount();  // removes the file if no connections were lost
  RelayedCount(const RelayedCount&) = delete;
  RelayedCount& operator=(const RelayedCount&) = delete;

  const std::string& problem() const noexcept { return problem_; }

  ThreadCounts& thread_counts(unsigned thread) noexcept { return thread_counts_[thread < threads_ ? thread : 0]; }

  // The following may be called from any thread.

  RelayedNow now() const noexcept;
  std::uint64_t datagrams() const noexcept;
  // TCP connections continue in another process: the next daemon reports none of them.
  void connections_continue() noexcept { remove_file(); }
  // Records connections that end with this process, for the next process to report.
  void record_lost(const RelayedNow& lost) noexcept;

  // Returns the lost connections recorded in `folder` by backends of this family that have ended, and removes their
  // files.
  static RelayedNow take_lost(const std::string& folder, abi::Family family);

 private:
  struct Header;

  void remove_file() noexcept;
  bool open_file(const std::string& folder, abi::Family family);
  Header& header() noexcept;

  const unsigned threads_;
  const std::size_t size_;
  std::string path_;
  lib::Fd file_;
  std::string problem_;
  void* memory_ = nullptr;
  ThreadCounts* thread_counts_ = nullptr;
};

}  // namespace sluice::userspace
