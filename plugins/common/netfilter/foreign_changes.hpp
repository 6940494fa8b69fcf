// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Detects changes of nf_tables by other processes. The kernel counts transactions without
// their author, so all writers of this process, one per family, count their own here. Any
// other growth of the generation number is a foreign change. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "lib/mutex.hpp"

namespace sluice::netfilter {

class ForeignChanges {
 public:
  // Returns the kernel's generation; empty if the kernel does not report one.
  using Read = std::function<std::optional<std::uint32_t>()>;

  // Foreign changes noticed so far, to be compared with an earlier result. Empty if the
  // kernel does not report its generation.
  std::optional<std::uint64_t> count(const Read& read);

  struct Written {
    std::optional<std::uint64_t> before;   // count() just before
    std::optional<std::uint32_t> commits;  // transactions in the meantime
  };
  // Runs `restore`, which commits `commits` transactions and returns true, or commits some of
  // them and returns false. Other writers of this process wait with a timeout, so that a hung
  // tool blocks its own family only. After the timeout the write counts as a foreign change.
  Written write(const Read& read, std::size_t commits, const std::function<bool()>& restore);

 private:
  void note(std::optional<std::uint32_t> now) SLUICE_REQUIRES(mutex_);

  lib::TimedMutex mutex_;
  std::optional<std::uint32_t> generation_ SLUICE_GUARDED_BY(mutex_);  // at the last check
  std::uint64_t count_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice::netfilter
