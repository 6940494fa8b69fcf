// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Measures the backend on a real kernel.
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

#include "test/unit/iptables/roundtrip.hpp"

namespace sluice::test {
namespace {

double processor_time() {
  double sum = 0;
  for (const int target : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(target, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime}) {
      sum += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) / 1e6;
    }
  }
  return sum;
}

long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
  }
  return 0;
}

}  // namespace

int bench(abi::Family family, std::size_t count, std::size_t endpoints) {
  Roundtrip trip(family);
  const auto time = [&](const char* what, const std::function<abi::Code()>& step) {
    trip.result = {};
    const double before = processor_time();
    const auto begin = std::chrono::steady_clock::now();
    const abi::Code code = step();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    std::printf("%-28s %8.4f s  cpu %8.4f s  lines %7llu  rss %6ld KiB%s%s\n", what, wall.count(),
                processor_time() - before, static_cast<unsigned long long>(trip.result.kernel_writes), resident_kib(),
                code == abi::Code::kOk ? "" : "  FAILED ", trip.error.message);
    std::fflush(stdout);
  };
  const std::vector<ServiceSpec> services = many_services(count, endpoints, family);
  ServiceSpec changed = services[count / 2];
  changed.endpoints.pop_back();
  std::printf("%zu service ports, %zu endpoints each; the list of them takes %ld KiB\n", count, endpoints,
              resident_kib());
  time("first load", [&] { return trip.full(services); });
  time("full without drift", [&] { return trip.full(services); });
  time("one endpoint less", [&] { return trip.delta({changed}); });
  time("one endpoint more", [&] { return trip.delta({services[count / 2]}); });
  time("nothing changed", [&] { return trip.delta({services[count / 2]}); });
  time("one service port less", [&] { return trip.delta({}, {services[count / 2]}); });
  time("one service port more", [&] { return trip.delta({services[count / 2]}); });
  time("verify", [&] { return trip.verify(); });
  time("cleanup", [&] { return trip.cleanup(); });
  trip.restart(abi::kCreatePredecessorServes);
  time("first load, opened last", [&] { return trip.full(services); });
  trip.host.step = 0;
  // The host uses the real clock.
  const auto began = std::chrono::steady_clock::now();
  const auto set_clock = [&] {
    trip.host.clock = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - began).count());
  };
  abi::Code code = abi::Code::kRetry;
  for (int call = 1; code == abi::Code::kRetry; ++call) {
    set_clock();
    time(("retirement, call " + std::to_string(call)).c_str(), [&] {
      code = trip.retire(30);
      return abi::Code::kOk;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(250));  // fixed time: the interval of the daemon's calls
  }
  return 0;
}

}  // namespace sluice::test
