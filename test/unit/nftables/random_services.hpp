// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Random Services with few addresses and ports, so that they conflict.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "sluice/abi/types.hpp"
#include "test/unit/common/world.hpp"

namespace sluice::test {

class RandomServices {
 public:
  // Maximum number of Services.
  static constexpr unsigned kMost = 24;

  RandomServices(abi::Family family, std::uint64_t seed) : family_(family), random_(seed) {}

  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
  bool chance(unsigned percent) { return pick(100) < percent; }

  // Changes the Service `number`; its name and protocol stay the same.
  ServiceSpec make(unsigned number);
  // Adds, removes or changes one endpoint.
  void nudge(ServiceSpec& spec);
  static std::string name(unsigned number);

 private:
  std::string address(const char* v4, const char* v6, unsigned number) const;
  EndpointSpec endpoint();
  std::vector<std::string> ranges();

  abi::Family family_;
  std::mt19937_64 random_;
};

// Sorted by name, as in a transaction.
using Services = std::map<std::string, ServiceSpec>;
std::vector<ServiceSpec> list_of(const Services& services);

}  // namespace sluice::test
