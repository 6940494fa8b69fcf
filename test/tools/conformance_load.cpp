// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// conformance-load: the checks of the conformance kit that need neither a daemon nor packets. Runs in the network
// namespace in which it is started; the plugin programs that namespace.
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "conformance_subject.hpp"

namespace {

constexpr const char* kUsage =
    "usage: conformance-load describe PLUGIN\n"
    "       conformance-load contract PLUGIN STATE-DIR\n"
    "       conformance-load cost PLUGIN STATE-DIR 4|6 SERVICES\n";

int run(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "describe") return conformance::describe(words[1]);
  if (words.size() == 3 && words[0] == "contract") return conformance::contract(words[1], words[2]);
  if (words.size() == 5 && words[0] == "cost" && (words[3] == "4" || words[3] == "6")) {
    std::uint32_t count = 0;
    const auto [end, wrong] = std::from_chars(words[4].data(), words[4].data() + words[4].size(), count);
    if (wrong == std::errc() && end == words[4].data() + words[4].size() && count >= 10 && count <= 60000) {
      const auto family = words[3] == "6" ? conformance::abi::Family::kIpv6 : conformance::abi::Family::kIpv4;
      return conformance::cost(words[1], words[2], family, count);
    }
  }
  std::fputs(kUsage, stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "conformance-load: %s\n", error.what());
    return 1;
  }
}
