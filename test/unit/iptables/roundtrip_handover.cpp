// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Retirement of the rules and session affinity on a real kernel.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "plugins/iptables/names.hpp"
#include "plugins/iptables/recent_lists.hpp"
#include "sluice/sdk/address.hpp"
#include "test/unit/iptables/roundtrip.hpp"

namespace sluice::test {
namespace {

std::vector<ServiceSpec> services(abi::Family family) {
  std::vector<ServiceSpec> made = many_services(60, 3, family);
  made[1].affinity_seconds = 100;
  made[2].node_port = 30002;
  made[3].endpoints.clear();
  return made;
}

std::string rules(abi::Family family) {
  return call(family == abi::Family::kIpv6 ? "ip6tables-save" : "iptables-save", {}).output;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Sink final : abi::AffinitySink {
  void add(abi::ArrayView clients) noexcept override {
    const auto all = sdk::range<abi::AffinityClient>(clients);
    found.insert(found.end(), all.begin(), all.end());
  }
  std::vector<abi::AffinityClient> found;
};

}  // namespace

void check_retirement(abi::Family family, Tap& tap) {
  Roundtrip trip(family);
  trip.host.step = 0;
  tap.check(trip.full(services(family)) == abi::Code::kOk, "rules are written before the retirement", trip);
  tap.check(trip.retire(30) == abi::Code::kRetry, "retirement takes two steps", trip);
  std::string left = rules(family);
  tap.check(!has(left, "-A PREROUTING -m comment --comment \"kubernetes service portals\"") &&
                !has(left, "-A OUTPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES"),
            "no new connection is translated after the first step", trip);
  tap.check(has(left, "-j MASQUERADE") && has(left, "-A POSTROUTING ") && has(left, ":KUBE-SVC-"),
            "packets in flight are masqueraded", trip);
  tap.check(trip.retire(30) == abi::Code::kRetry && rules(family).size() == left.size(), "the second step waits", trip);
  trip.host.clock += 300'000'000;
  tap.check(trip.retire(29) == abi::Code::kOk, "the second step", trip);
  left = rules(family);
  tap.check(!has(left, "KUBE-SERVICES") && !has(left, "KUBE-SEP-") && !has(left, "KUBE-POSTROUTING"), "leaves nothing",
            trip);
  trip.restart(abi::kCreatePredecessorServes);
  tap.check(trip.full(services(family)) == abi::Code::kOk && trip.verify() == abi::Code::kOk,
            "entry jumps are written last", trip);
  trip.restart(abi::kCreatePredecessorServes);
  tap.check(trip.full(services(family)) == abi::Code::kOk && trip.result.kernel_writes == 0,
            "state left by the same backend is adopted", trip);
  tap.check(trip.retire(0) == abi::Code::kOk && !has(rules(family), "KUBE-SERVICES"),
            "all rules are removed at once without drain time", trip);
}

// The kernel does not expose jiffies: the derived ages of clients must match the time that passes here.
void check_affinity(abi::Family family, Tap& tap) {
  Roundtrip trip(family);
  trip.restart(abi::kCreatePredecessorServes);
  const std::vector<ServiceSpec> given = services(family);
  World world(family);
  abi::AffinityClient client{};
  client.key = world.key(given[1]);
  client.client = *sdk::parse_address(family == abi::Family::kIpv6 ? "2001:db8::7" : "198.51.100.7", family);
  client.endpoint = *sdk::parse_address(given[1].endpoints[1].address, family);
  client.endpoint_port = given[1].endpoints[1].port;
  client.remaining_seconds = 50;
  // The import happens between the two.
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  tap.check(trip.affinity().import_clients(sdk::array(&client, 1), &trip.error) == abi::Code::kOk &&
                trip.full(given) == abi::Code::kOk,
            "a client is imported", trip);
  const Clock::time_point imported = Clock::now();
  // Whole seconds since the import when the clients are listed, at least and at most.
  std::uint32_t least_age = 0, most_age = 0;
  const auto seconds_since = [](Clock::time_point then) {
    return static_cast<std::uint32_t>(std::chrono::floor<std::chrono::seconds>(Clock::now() - then).count());
  };
  const auto bound = [&] {
    Sink sink;
    least_age = seconds_since(imported);
    tap.check(trip.affinity().export_clients(&sink, &trip.error) == abi::Code::kOk, "clients are exported", trip);
    most_age = seconds_since(begin);
    return sink.found;
  };
  const auto is_right = [&](const std::vector<abi::AffinityClient>& found) {
    const std::uint32_t least = 98 - std::min(98u, most_age), most = std::min(100u, 101 - std::min(101u, least_age));
    return found.size() == 1 && found[0].client == client.client && found[0].endpoint == client.endpoint &&
           found[0].endpoint_port == client.endpoint_port && found[0].remaining_seconds >= least &&
           found[0].remaining_seconds <= most;
  };
  std::vector<abi::AffinityClient> found = bound();
  tap.check(is_right(found), "it is bound with the full timeout", trip);
  std::this_thread::sleep_for(std::chrono::seconds(3));  // fixed time: the kernel counts it down
  found = bound();
  tap.check(is_right(found), "its remaining time decreases", trip);
  if (!found.empty()) std::printf("# %u s are left\n", found[0].remaining_seconds);
  tap.check(trip.cleanup() == abi::Code::kOk, "cleanup after affinity", trip);
}

}  // namespace sluice::test
