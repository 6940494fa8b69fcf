// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How long tests wait on this machine. A timeout for an event that must happen is stretched by the load, because a busy
// machine needs more time and a timeout costs nothing while tests pass. A pause that proves that nothing happens, and
// time that is itself under test, is not stretched. It has no threads, and needs nothing but the standard library.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace sluice::test {

// A higher load is abnormal, and would make a failing test wait for hours.
inline constexpr double kHighestLoad = 16;

// Runnable threads per processor, from 1 to kHighestLoad: the higher value of the last minute and this instant.
inline double load() {
  std::ifstream file("/proc/loadavg");
  double last_minute = 0, ignored = 0, running = 0;
  // "0.20 0.18 0.12 1/80 11206"
  if (!(file >> last_minute >> ignored >> ignored >> running)) return 1;
  const double processors = std::max(1u, std::thread::hardware_concurrency());
  return std::clamp(std::max(last_minute, running) / processors, 1.0, kHighestLoad);
}

// How many times slower than usual the machine or the build is: SLUICE_TEST_SLOWNESS, at least 1.
inline double slowness() {
  const char* const text = std::getenv("SLUICE_TEST_SLOWNESS");
  return text == nullptr ? 1.0 : std::max(1.0, std::strtod(text, nullptr));
}

// A timeout as it is on this machine now. Call it when the wait begins.
template <class Rep, class Period>
std::chrono::nanoseconds stretched(std::chrono::duration<Rep, Period> limit) {
  const std::chrono::duration<double, std::nano> usual = limit;
  return std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(usual.count() * slowness() * load()));
}

// The same for a time that the test spends even if it passes, such as a timeout that has to expire: at most `most`.
template <class Rep, class Period>
std::chrono::milliseconds stretched_at_most(std::chrono::duration<Rep, Period> limit, std::chrono::milliseconds most) {
  return std::min(std::chrono::ceil<std::chrono::milliseconds>(stretched(limit)), most);
}

// The same as stretched() for poll(2).
template <class Rep, class Period>
int stretched_milliseconds(std::chrono::duration<Rep, Period> limit) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(stretched(limit)).count());
}

// Polls until the condition holds; false if it does not within the stretched limit. The deadline moves later while the
// load rises, and the condition is checked again after the deadline: this process may have been the one that waited for
// a processor. The load is not read before the plain limit has passed: reading it needs a file descriptor, and some tests
// leave none to spare.
template <class Condition>
bool wait_until(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::chrono::milliseconds pause{1};
  for (std::chrono::nanoseconds timeout = limit;;) {
    if (condition()) return true;
    if (Clock::now() - begin > timeout) {
      timeout = std::max(timeout, stretched(limit));
      if (Clock::now() - begin > timeout) return condition();
    }
    std::this_thread::sleep_for(pause);  // poll interval
    pause = std::min(pause + std::chrono::milliseconds(1), std::chrono::milliseconds(10));
  }
}

}  // namespace sluice::test
