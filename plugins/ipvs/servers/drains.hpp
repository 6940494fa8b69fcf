// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which real servers drain and until when, across restarts: the list, its file, and what was found in the kernel.
// One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "plugins/ipvs/servers/drain_file.hpp"
#include "plugins/ipvs/servers/drain_list.hpp"
#include "plugins/ipvs/servers/server_memory.hpp"

namespace sluice::ipvs {

class Drains {
 public:
  struct Options {
    abi::Family family{};
    bool limited = false;  // there are deadlines
    std::chrono::seconds most{0};
    std::string folder;  // empty: nothing survives a restart
    std::function<std::uint64_t()> now;         // nanoseconds, monotonic
    std::function<std::int64_t()> wall_clock;   // seconds since 1970
  };
  Drains(Options options, sdk::Logger log);

  // The kernel has been read: real servers that have gone, or have a weight again, do not drain any more. The first time, the
  // deadlines of the file are taken over for those that have the weight 0.
  void refreshed(const ServerMemory& memory);

  // One that drains already keeps its deadline.
  void begin(const ServerKey& key, const RealServer& real);
  // All of weight 0 that `wanted` (which may be null) has not.
  void begin_found(const ServerKey& key, const HeldServer& held, const RealServers& wanted);
  void end(const ServerKey& key, const RealServer& real) { list_.remove(key, real); }
  void end(const ServerKey& key);
  // Those that have gone or have a weight.
  void end_others(const ServerKey& key, const HeldServer& held);

  const DrainList& list() const noexcept { return list_; }
  // Writes the file if deadlines have changed.
  void save();
  // Does so when it goes, whatever came in between.
  class SavedAtEnd {
   public:
    explicit SavedAtEnd(Drains& drains) noexcept : drains_(drains) {}
    ~SavedAtEnd();
    SavedAtEnd(const SavedAtEnd&) = delete;
    SavedAtEnd& operator=(const SavedAtEnd&) = delete;

   private:
    Drains& drains_;
  };

 private:
  void load();

  Options options_;
  DrainFile file_;
  DrainList list_;
  // Deadlines of those whose virtual server has not been written yet: it may be another program's.
  std::map<ServerKey, DrainList::OfServer> saved_;
  bool saved_shrank_ = false;  // since the file was written
  bool loaded_ = false;
};

}  // namespace sluice::ipvs
