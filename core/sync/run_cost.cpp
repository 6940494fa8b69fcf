// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/run_cost.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>

namespace sluice::sync {
namespace {

lib::Clock::Duration processor_time() {
  timespec thread{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &thread);
  rusage programs{};
  ::getrusage(RUSAGE_CHILDREN, &programs);
  return std::chrono::seconds(thread.tv_sec + programs.ru_utime.tv_sec + programs.ru_stime.tv_sec) +
         std::chrono::nanoseconds(thread.tv_nsec) +
         std::chrono::microseconds(programs.ru_utime.tv_usec + programs.ru_stime.tv_usec);
}

}  // namespace

RunCost::RunCost(const lib::Clock& clock) : clock_(clock), begin_(clock.now()), used_before_(processor_time()) {}

lib::Clock::Duration RunCost::so_far() const {
  return std::min(processor_time() - used_before_, clock_.now() - begin_);
}

}  // namespace sluice::sync
