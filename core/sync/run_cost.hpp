// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Measures the processor time of a run: that of the calling thread, with the kernel's work in its system calls, and of
// the programs that ended meanwhile, such as iptables-restore. Programs that other threads ran count too, which errs on
// the side of a higher cost; the elapsed time is the upper limit. Time spent waiting, such as for the xtables lock or
// for a processor, does not count. Work of other threads for the run, such as selecting endpoints, is not measured.
#pragma once

#include "lib/clock.hpp"

namespace sluice::sync {

class RunCost {
 public:
  explicit RunCost(const lib::Clock& clock);
  // Since the construction. REQUIRES: the same thread
  lib::Clock::Duration so_far() const;

 private:
  const lib::Clock& clock_;
  const lib::Clock::Time begin_;
  const lib::Clock::Duration used_before_;
};

}  // namespace sluice::sync
