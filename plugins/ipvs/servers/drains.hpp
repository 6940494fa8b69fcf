// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which real servers drain and until when, across restarts: the list, its file, and the kernel's state. One thread at
// a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "plugins/ipvs/servers/drain_file.hpp"
#include "plugins/ipvs/servers/drain_list.hpp"
#include "plugins/ipvs/servers/server_cache.hpp"

namespace sluice::ipvs {

class Drains {
 public:
  struct Options {
    abi::Family family{};
    bool limited = false;  // drains have deadlines
    std::chrono::seconds most{0};
    std::string folder;                         // empty: deadlines do not survive a restart
    std::function<std::uint64_t()> now;         // nanoseconds, monotonic
    std::function<std::int64_t()> wall_clock;   // seconds since 1970
  };
  Drains(Options options, sdk::Logger log);

  // Call after the kernel has been read: real servers that are gone or have a weight again no longer drain. The first
  // call loads the deadlines of the file for real servers of weight 0.
  void refreshed(const ServerCache& cache);

  // A real server that drains already keeps its deadline.
  void begin(const ServerKey& key, const RealServer& real);
  // Starts a drain for each real server of weight 0 that `wanted` (may be null) does not contain.
  void begin_found(const ServerKey& key, const HeldServer& held, const RealServers& wanted);
  void end(const ServerKey& key, const RealServer& real) { list_.remove(key, real); }
  void end(const ServerKey& key);
  // Ends the drain of real servers that are gone or have a weight.
  void end_others(const ServerKey& key, const HeldServer& held);

  const DrainList& list() const noexcept { return list_; }
  // Writes the file if deadlines have changed.
  void save();
  // Saves on destruction, also when an exception is thrown.
  class SaveGuard {
   public:
    explicit SaveGuard(Drains& drains) noexcept : drains_(drains) {}
    ~SaveGuard();
    SaveGuard(const SaveGuard&) = delete;
    SaveGuard& operator=(const SaveGuard&) = delete;

   private:
    Drains& drains_;
  };

 private:
  void load();

  Options options_;
  DrainFile file_;
  DrainList list_;
  // Deadlines of virtual servers that have not been written yet: they may be foreign.
  std::map<ServerKey, DrainList::OfServer> saved_;
  bool saved_shrank_ = false;  // since the file was written
  bool loaded_ = false;
};

}  // namespace sluice::ipvs
