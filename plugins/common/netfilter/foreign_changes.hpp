// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Whether anybody but us changes nf_tables. The kernel counts transactions, not whose they
// are; so all writers of this process, one per family, count theirs together here. What
// the number has grown by besides is somebody else's. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

namespace sluice::netfilter {

class ForeignChanges {
 public:
  // The kernel's generation; empty when it does not tell.
  using Read = std::function<std::optional<std::uint32_t>()>;

  // Changes of others noticed so far: a number to compare with an earlier one. Empty when
  // the kernel does not tell.
  std::optional<std::uint64_t> count(const Read& read);

  struct Written {
    std::optional<std::uint64_t> before;   // count() just before
    std::optional<std::uint32_t> commits;  // transactions in the meantime
  };
  // Carries out `restore`, which makes `commits` transactions and returns true, or fails and
  // makes some of them. Other writers of ours wait, but not for ever: a tool that hangs
  // holds up its own family only, at the price of one more look at the kernel.
  Written write(const Read& read, std::size_t commits, const std::function<bool()>& restore);

 private:
  void note(std::optional<std::uint32_t> now);

  std::timed_mutex mutex_;
  std::optional<std::uint32_t> generation_;  // when last looked at
  std::uint64_t count_ = 0;
};

}  // namespace sluice::netfilter
