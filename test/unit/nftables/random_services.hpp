// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Services made up at random, out of few addresses and ports, so that they get into each other's way.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "sluice/abi/types.hpp"
#include "test/unit/iptables/world.hpp"

namespace sluice::test {

class RandomServices {
 public:
  // As many can there be at once.
  static constexpr unsigned kMost = 24;

  RandomServices(abi::Family family, std::uint64_t seed) : family_(family), random_(seed) {}

  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
  bool chance(unsigned percent) { return pick(100) < percent; }

  // Another state of the number-th; its name and protocol are always the same.
  ServiceSpec make(unsigned number);
  // One endpoint more, less or another one.
  void nudge(ServiceSpec& spec);
  static std::string name(unsigned number);

 private:
  std::string address(const char* v4, const char* v6, unsigned number) const;
  EndpointSpec endpoint();
  std::vector<std::string> ranges();

  abi::Family family_;
  std::mt19937_64 random_;
};

// By name: as they stand in a transaction.
using Services = std::map<std::string, ServiceSpec>;
std::vector<ServiceSpec> list_of(const Services& services);

}  // namespace sluice::test
