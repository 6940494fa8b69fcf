// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "plugins/common/netfilter/xtables_lock.hpp"
#include "test/unit/iptables/roundtrip.hpp"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

// A wrapper of iptables-restore that refuses an input with the text of SLUICE_TEST_REFUSE and
// does not name the line.
class Wrapper {
 public:
  explicit Wrapper(const std::string& tool) : path_(std::getenv("PATH")) {
    char name[] = "/tmp/sluice-wrapper-XXXXXX";
    folder_ = mkdtemp(name);
    for (const char* variant : {"", "-nft", "-legacy"}) {
      const std::string program = tool + variant + "-restore";
      const std::string real = lib::find_program(program);
      if (real.empty()) continue;
      std::ofstream(folder_ + "/" + program) << "#!/bin/sh\ninput=$(mktemp)\ncat >\"$input\"\nexec 3<\"$input\"\n"
                                             << "grep -qF -e \"${SLUICE_TEST_REFUSE:-no such text}\" \"$input\"\n"
                                             << "found=$?\nrm \"$input\"\n"
                                             << "if [ $found = 0 ]; then echo 'it is Tuesday' >&2; exit 1; fi\n"
                                             << "exec " << real << " \"$@\" <&3\n";
      chmod((folder_ + "/" + program).c_str(), 0755);
    }
    setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
  }
  ~Wrapper() {
    setenv("PATH", path_.c_str(), 1);
    refuse({});
    fs::remove_all(folder_);
  }
  Wrapper(const Wrapper&) = delete;
  Wrapper& operator=(const Wrapper&) = delete;

  static void refuse(const std::string& text) {
    if (text.empty()) {
      unsetenv("SLUICE_TEST_REFUSE");
    } else {
      setenv("SLUICE_TEST_REFUSE", text.c_str(), 1);
    }
  }

 private:
  std::string path_;
  std::string folder_;
};

bool not_programmed(const Roundtrip& trip, const std::string& name) {
  return trip.host.not_programmed() == 1 && !trip.host.failed.empty() &&
         trip.host.failed.back().starts_with(name + ": ");
}

bool holds(const std::string& tool, const std::string& text) {
  return call(tool + "-save", {"-t", "nat"}).output.find(text) != std::string::npos;
}

std::string rule_of(const ServiceSpec& service) { return "--comment bench/" + service.name + ":p80 -s "; }

void check_wrapper(abi::Family family, const std::string& tool, Tap& tap) {
  const std::vector<ServiceSpec> services = many_services(12, 2, family);
  std::vector<ServiceSpec> accepted = services;
  accepted.erase(accepted.begin() + 5);
  const Wrapper wrapper(tool);
  Roundtrip trip(family);
  Wrapper::refuse(rule_of(services[5]));
  tap.check(trip.full(services) == abi::Code::kOk && not_programmed(trip, "bench/svc-5:p80"),
            "a service port that is refused without a line number is found and excluded", trip);
  std::printf("# %s\n", trip.host.failed.empty() ? "" : trip.host.failed.back().c_str());
  tap.check(!holds(tool, "svc-5:") && holds(tool, "svc-4:") && holds(tool, "svc-11:"),
            "it is not in the kernel, all others are", trip);
  tap.check(trip.verify() == abi::Code::kOk, "verify agrees", trip);
  tap.check(trip.full(accepted) == abi::Code::kOk && trip.result.kernel_writes == 0,
            "the kernel has exactly the rules of the others", trip);
  Wrapper::refuse({});
  tap.check(trip.full(services) == abi::Code::kOk && trip.host.not_programmed() == 0 && holds(tool, "svc-5:"),
            "it is written when it is no longer refused", trip);
  std::vector<ServiceSpec> changed = services;
  for (ServiceSpec& service : changed) service.affinity_seconds = 60;
  Wrapper::refuse("--comment \"bench/svc-5:p80 -> ");
  tap.check(trip.delta(changed) == abi::Code::kOk && not_programmed(trip, "bench/svc-5:p80"),
            "it is found if a delta is refused", trip);
  std::vector<ServiceSpec> expected = changed;
  expected[5] = services[5];
  Wrapper::refuse({});
  tap.check(trip.full(expected) == abi::Code::kOk && trip.result.kernel_writes == 0,
            "it has kept its old rules, all others have changed", trip);
  tap.check(trip.cleanup() == abi::Code::kOk, "cleanup after refusals", trip);
}

void check_lock(abi::Family family, Tap& tap) {
  char name[] = "/tmp/sluice-lock-XXXXXX";
  const int file = mkstemp(name);
  setenv("XTABLES_LOCKFILE", name, 1);
  netfilter::XtablesLock lock({name, {}});
  Roundtrip trip(family);
  const bool held = file >= 0 && lock.acquire(std::chrono::milliseconds(0), std::chrono::milliseconds(1));
  const auto begin = std::chrono::steady_clock::now();
  tap.check(held && trip.full({}) == abi::Code::kRetry, "a held lock is waited for, then it is a retry", trip);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("# %s\n", trip.error.message);
  const double waited = trip.host.metrics[std::string("sluice_iptables_lock_wait_seconds_total{ip_family=\"") +
                                          (family == abi::Family::kIpv6 ? "IPv6\"}" : "IPv4\"}")];
  tap.check(waited >= 5 && waited <= took.count(), "the wait is bounded and counted", trip);
  lock.release();
  tap.check(trip.full({}) == abi::Code::kOk, "rules are written when the lock is free", trip);
  tap.check(trip.cleanup() == abi::Code::kOk, "cleanup after the lock", trip);
  unsetenv("XTABLES_LOCKFILE");
  fs::remove(name);
}

}  // namespace

void check_refusals(abi::Family family, bool legacy, Tap& tap) {
  check_wrapper(family, family == abi::Family::kIpv6 ? "ip6tables" : "iptables", tap);
  if (legacy) check_lock(family, tap);
}

}  // namespace sluice::test
