// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How many connections and UDP flows one backend relays now. It is kept in a file mapped
// into memory, so that the next process can tell how many were lost when this one was
// killed. Each thread of the engine counts in a place of its own.
//
// The file is locked while its owner lives. So what another backend of this process counts
// is left alone, and what nobody holds any more was left by one that has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "plugins/userspace/descriptor.hpp"
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
  struct alignas(64) Place {
    Counter connections;  // gauge
    Counter flows;        // gauge
    Counter datagrams;    // that came from clients, ever
  };

  // Counts in `folder`; where it is empty, or no file can be had there, in memory only: problem() says why.
  RelayedCount(unsigned threads, const std::string& folder, abi::Family family);
  ~RelayedCount();  // the file goes when nothing is left to be told
  RelayedCount(const RelayedCount&) = delete;
  RelayedCount& operator=(const RelayedCount&) = delete;

  const std::string& problem() const noexcept { return problem_; }

  Place& place(unsigned thread) noexcept { return places_[thread < threads_ ? thread : 0]; }

  // Any thread from here on.

  RelayedNow now() const noexcept;
  std::uint64_t datagrams() const noexcept;
  // These end with this process: the next one is to know, whatever becomes of the count.
  void leave_behind(const RelayedNow& lost) noexcept;

  // What backends of this family that have ended left behind in `folder`, once: their files are removed.
  static RelayedNow take_lost(const std::string& folder, abi::Family family);

 private:
  struct Header;

  bool open_file(const std::string& folder, abi::Family family);
  Header& header() noexcept;

  const unsigned threads_;
  const std::size_t size_;
  std::string path_;
  Descriptor file_;
  std::string problem_;
  void* memory_ = nullptr;
  Place* places_ = nullptr;
};

}  // namespace sluice::userspace
