// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A backend on the kernel of this network namespace, with the calls that the daemon makes, and
// helpers of its checks.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "lib/program.hpp"
#include "plugins/iptables/backend.hpp"
#include "sluice/abi/affinity.hpp"
#include "sluice/abi/inspection.hpp"
#include "test/unit/common/fake_host.hpp"
#include "test/unit/common/world.hpp"

namespace sluice::test {

class Roundtrip {
 public:
  explicit Roundtrip(abi::Family family) : family_(family) { restart(); }
  ~Roundtrip() { backend_->release(); }
  Roundtrip(const Roundtrip&) = delete;
  Roundtrip& operator=(const Roundtrip&) = delete;

  void restart(std::uint32_t flags = 0) {
    if (backend_ != nullptr) backend_->release();
    abi::CreateArgs args{};
    args.struct_size = sizeof(args);
    args.family = family_;
    args.host = &host;
    args.flags = flags;
    backend_ = new iptables::IptablesBackend(args);
  }

  abi::Code full(const std::vector<ServiceSpec>& services) {
    World world(family_);
    return apply(world.full(services, ++generation_, node()));
  }
  abi::Code delta(const std::vector<ServiceSpec>& changed, const std::vector<ServiceSpec>& removed = {}) {
    World world(family_);
    return apply(world.delta(changed, removed, ++generation_, node()));
  }
  abi::Code apply(const abi::Transaction& transaction) {
    clear();
    host.failed.clear();
    result = {};
    result.struct_size = sizeof(result);
    return backend_->apply(&transaction, &result, &error);
  }
  abi::Code probe() { return clear(), backend_->probe(&error); }
  abi::Code verify() { return clear(), backend_->verify(&error); }
  abi::Code cleanup() { return clear(), backend_->cleanup(&error); }
  abi::Code retire(std::uint32_t drain_seconds) {
    clear();
    abi::Handover handover{};
    handover.struct_size = sizeof(handover);
    handover.drain_seconds = drain_seconds;
    return backend_->retire(&handover, &error);
  }
  abi::InspectionRows& inspection() {
    return *static_cast<abi::InspectionRows*>(backend_->extension(sdk::view(abi::kInspectionRows)));
  }
  abi::Affinity& affinity() {
    return *static_cast<abi::Affinity*>(backend_->extension(sdk::view(abi::kAffinity)));
  }

  NodeSpec node() const {
    NodeSpec spec;
    if (family_ == abi::Family::kIpv6) {
      spec.ip = "fd00::2";
      spec.detector_cidr = "fd00::/16";
    }
    return spec;
  }

  FakeHost host;
  abi::ApplyResult result{};
  abi::Error error{};

 private:
  void clear() {
    error = {};
    error.struct_size = sizeof(error);
  }

  abi::Family family_;
  abi::Backend* backend_ = nullptr;
  std::uint64_t generation_ = 0;
};

class Tap {
 public:
  void check(bool good, const std::string& what, const Roundtrip& trip) {
    std::printf("%s %d - %s\n", good ? "ok" : "not ok", ++count_, what.c_str());
    if (!good) {
      failed_ = true;
      std::printf("# %s %s (%llu lines written)\n", trip.error.object, trip.error.message,
                  static_cast<unsigned long long>(trip.result.kernel_writes));
    }
    std::fflush(stdout);
  }
  int finish() const {
    std::printf("1..%d\n", count_);
    return failed_ ? 1 : 0;
  }

 private:
  int count_ = 0;
  bool failed_ = false;
};

// Runs a program found in PATH.
inline lib::ProgramResult call(const std::string& program, std::vector<std::string> arguments) {
  lib::Program command;
  command.arguments = std::move(arguments);
  command.arguments.insert(command.arguments.begin(), lib::find_program(program));
  return *lib::run_program(command);
}

// Checks refused service ports; adds to `tap`.
void check_refusals(abi::Family family, bool legacy, Tap& tap);
// Retirement in two steps, and back.
void check_retirement(abi::Family family, Tap& tap);
// Clients with session affinity.
void check_affinity(abi::Family family, Tap& tap);
// Counters of packets.
void check_counters(abi::Family family, Tap& tap);
// Counters, drift and explanations.
void check_inspection(abi::Family family, Tap& tap);
// Prints times.
int bench(abi::Family family, std::size_t count, std::size_t endpoints);

}  // namespace sluice::test
