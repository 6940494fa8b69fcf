// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The userspace backend: its balancer compared with the model, and its settings.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "plugins/userspace/settings.hpp"
#include "sluice/sdk/options.hpp"
#include "sluice/sdk/error.hpp"
#include "test/fuzz/target.hpp"
#include "test/unit/userspace/balancer/balancer_history.hpp"

namespace sluice::fuzz {
namespace {

// Each choice of a history takes a byte, or two where there are more than 256 possibilities.
FUZZ_TARGET(balancer) {
  Input bytes(input);
  const auto choose = [&](std::size_t count) -> std::size_t {
    if (count <= 256) return bytes.below(count);
    return (std::size_t{bytes.byte()} * 256 + bytes.byte()) % count;
  };
  const std::string problem = userspace::rig::run_balancer_history(choose, std::min<std::size_t>(input.size(), 2000));
  if (!problem.empty()) std::fprintf(stderr, "%s\n", problem.c_str());
  FUZZ_REQUIRE(problem.empty(), "balancer and model agree");
}

// First a byte that chooses the family, then lines "key=value".
FUZZ_TARGET(userspace_settings) {
  Input bytes(input);
  const abi::Family family = bytes.flag() ? abi::Family::kIpv6 : abi::Family::kIpv4;
  std::string_view text = bytes.rest();
  std::vector<abi::Option> given;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view key = line.substr(0, line.find('='));
    const std::string_view value = line.substr(std::min(line.size(), key.size() + 1));
    given.push_back({{key.data(), key.size()}, {value.data(), value.size()}, {}, 0, 0});
  }
  const abi::ArrayView view{given.data(), given.size(), sizeof(abi::Option), 0};
  const sdk::Options options(view);
  try {
    const userspace::Settings settings = userspace::read_settings(view, family);
    const userspace::RelaySettings& relay = settings.relay;
    FUZZ_REQUIRE(!relay.dial_timeouts.empty() && relay.dial_timeouts.size() <= 16, "there is a list of dial timeouts");
    for (const auto timeout : relay.dial_timeouts) FUZZ_REQUIRE(timeout.count() > 0, "each dial has some time");
    FUZZ_REQUIRE(relay.udp_timeout.count() > 0, "UDP clients have some time");
    FUZZ_REQUIRE(relay.max_udp_clients > 0 && settings.balancer.max_affinity_clients > 0,
                 "tables have room for clients");
    FUZZ_REQUIRE(relay.pipe_bytes >= 4096 && relay.tcp_keepalive.count() <= 32767, "the kernel accepts these values");
    const userspace::PortRange& ports = settings.proxy_ports;
    FUZZ_REQUIRE(ports.low <= ports.high && (ports.low == 0) == ports.any(), "a range of ports has some");
    const userspace::OutlierSettings& outliers = settings.balancer.outliers;
    FUZZ_REQUIRE(outliers.first_pause <= outliers.longest_pause, "pauses grow");
  } catch (const sdk::Failure& failure) {
    FUZZ_REQUIRE(failure.code() == abi::Code::kInvalid, "a refusal says so");
    FUZZ_REQUIRE(options.has(failure.object()), "a refusal names a key that was given");
  }
}

}  // namespace
}  // namespace sluice::fuzz
