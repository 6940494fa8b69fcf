// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Export and import of clients that session affinity binds.
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "test/unit/iptables/backend_rig.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/repetitions.hpp"

namespace sluice::test {
namespace affinity_test {

using iptables::ChainId;
using iptables::ChainKind;
using iptables::Jiffies;
using iptables::RecentClient;
using std::chrono::seconds;

abi::Address ip(const std::string& text) { return *sdk::parse_address(text, abi::Family::kIpv4); }

ServiceSpec sticky() {
  ServiceSpec service;
  service.affinity_seconds = 100;
  service.endpoints = {{"10.180.0.1"}, {"10.180.0.2"}};
  return service;
}

std::string list_of(const ServiceSpec& service, std::size_t endpoint) {
  const std::string name = service.namespace_name + "/" + service.name + ":" + service.port_name;
  const EndpointSpec& spec = service.endpoints[endpoint];
  return iptables::name(ChainId{ChainKind::kEndpoint, netfilter::base32_hash(name + "tcp" + spec.address + ":" +
                                                                             std::to_string(spec.port))});
}

struct Sink final : abi::AffinitySink {
  void add(abi::ArrayView clients) noexcept override {
    for (const abi::AffinityClient& client : sdk::range<abi::AffinityClient>(clients)) {
      found.push_back(sdk::service_port_name(client.key) + " " + sdk::to_string(client.client, abi::Family::kIpv4) +
                      " -> " + sdk::host_port(client.endpoint, abi::Family::kIpv4, client.endpoint_port) + " " +
                      std::to_string(client.remaining_seconds));
    }
  }
  std::vector<std::string> found;
};

class IptablesAffinityTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IptablesAffinityTest);
  CPPUNIT_TEST(parses_lines_of_the_kernel);
  CPPUNIT_TEST(exports_bound_clients);
  CPPUNIT_TEST(first_endpoint_with_a_client_gets_it);
  CPPUNIT_TEST(missing_proc_files_are_reported);
  CPPUNIT_TEST(clients_are_bound_before_the_jumps_are_written);
  CPPUNIT_TEST(unknown_service_ports_and_endpoints_are_skipped);
  CPPUNIT_TEST(second_import_binds_only_unbound_clients);
  CPPUNIT_TEST(binding_failures_are_logged);
  CPPUNIT_TEST(full_list_gets_clients_with_the_longest_remaining_time);
  CPPUNIT_TEST(imports_hundreds_of_thousands_of_clients_in_time);
  CPPUNIT_TEST_SUITE_END();

  static std::vector<std::string> bound(IptablesRig& rig) {
    Sink sink;
    ok(rig.affinity().export_clients(&sink, &rig.error));
    return sink.found;
  }

  struct Client {
    ServiceSpec service;
    std::string client;
    std::string endpoint;
    std::uint32_t remaining = 50;
  };
  static abi::Code import(IptablesRig& rig, const std::vector<Client>& clients) {
    World world;
    std::vector<abi::AffinityClient> given;
    for (const Client& one : clients) {
      abi::AffinityClient client{};
      client.key = world.key(one.service);
      client.client = ip(one.client);
      client.endpoint = ip(one.endpoint);
      client.endpoint_port = 80;
      client.remaining_seconds = one.remaining;
      given.push_back(client);
    }
    return rig.affinity().import_clients(sdk::array(given.data(), given.size()), &rig.error);
  }

 public:
  void parses_lines_of_the_kernel() {
    const Jiffies clock{5000, 250};
    const auto found =
        iptables::parse_recent("src=10.0.0.7 ttl: 63 last_seen: 4500 oldest_pkt: 2 4400, 4500", abi::Family::kIpv4, clock);
    CPPUNIT_ASSERT(found && found->address == ip("10.0.0.7"));
    CPPUNIT_ASSERT_EQUAL(std::int64_t{2}, std::int64_t{found->age.count()});
    const auto ipv6 = iptables::parse_recent("src=fd00:0000:0000:0000:0000:0000:0000:0007 ttl: 0 last_seen: 5000 oldest_pkt: 1 5000",
                                             abi::Family::kIpv6, clock);
    CPPUNIT_ASSERT(ipv6 && ipv6->age.count() == 0);
    // Before the counter overflowed, and slightly after the test's current time.
    CPPUNIT_ASSERT_EQUAL(std::int64_t{21}, std::int64_t{iptables::parse_recent(
        "src=10.0.0.7 ttl: 0 last_seen: " + std::to_string(~0ul - 249) + " oldest_pkt: 1 1", abi::Family::kIpv4,
        Jiffies{5000, 250})->age.count()});
    CPPUNIT_ASSERT(iptables::parse_recent("src=10.0.0.7 ttl: 0 last_seen: 5100 oldest_pkt: 1 1", abi::Family::kIpv4, clock)->age.count() == 0);
    for (const char* bad : {"", "src=10.0.0.7", "src=x last_seen: 5", "src=10.0.0.7 last_seen: x ", "src=fd00::1 ttl: 0 last_seen: 5 oldest_pkt: 1 5"}) {
      CPPUNIT_ASSERT(!iptables::parse_recent(bad, abi::Family::kIpv4, clock));
    }
  }

  void exports_bound_clients() {
    IptablesRig rig;
    ServiceSpec plain = sticky();
    plain.name = "plain";
    plain.affinity_seconds = 0;
    plain.cluster_ip = "172.30.0.42";
    ok(rig.full({sticky(), plain}));
    rig.recent.lists[list_of(sticky(), 0)] = {{ip("10.0.0.7"), seconds(30)}, {ip("10.0.0.8"), seconds(100)}};
    rig.recent.lists[list_of(sticky(), 1)] = {{ip("10.0.0.9"), seconds(0)}};
    rig.recent.lists[list_of(plain, 0)] = {{ip("10.0.0.6"), seconds(1)}};
    const std::vector<std::string> expected = {"ns1/svc1:p80 10.0.0.7 -> 10.180.0.1:80 70",
                                               "ns1/svc1:p80 10.0.0.9 -> 10.180.0.2:80 100"};
    CPPUNIT_ASSERT(expected == bound(rig));
    ServiceSpec without = sticky();
    without.affinity_seconds = 0;
    ok(rig.delta({without}));
    CPPUNIT_ASSERT(bound(rig).empty());
    ok(rig.delta({sticky()}));
    CPPUNIT_ASSERT(expected == bound(rig));
    ok(rig.delta({}, {sticky()}));
    CPPUNIT_ASSERT(bound(rig).empty());
  }

  void first_endpoint_with_a_client_gets_it() {
    IptablesRig rig;
    ok(rig.full({sticky()}));
    rig.recent.lists[list_of(sticky(), 0)] = {{ip("10.0.0.7"), seconds(90)}};
    rig.recent.lists[list_of(sticky(), 1)] = {{ip("10.0.0.7"), seconds(1)}};
    CPPUNIT_ASSERT(std::vector<std::string>{"ns1/svc1:p80 10.0.0.7 -> 10.180.0.1:80 10"} == bound(rig));
  }

  void missing_proc_files_are_reported() {
    IptablesRig rig;
    rig.recent.available = false;
    Sink sink;
    ok(rig.full({}));
    ok(rig.affinity().export_clients(&sink, &rig.error));
    ok(rig.full({sticky()}));
    CPPUNIT_ASSERT(rig.affinity().export_clients(&sink, &rig.error) == abi::Code::kUnsupported);
    CPPUNIT_ASSERT(std::string(rig.error.message).find("/proc/net/xt_recent") != std::string::npos);
  }

  void clients_are_bound_before_the_jumps_are_written() {
    IptablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    bool open = false;
    // As in the kernel, a list exists after the first rule that names it is written.
    rig.recent.exists = [&](const std::string& list) {
      open = open || !rig.kernel.rules("nat", "PREROUTING").empty();
      return rig.kernel.has("nat", list);
    };
    ok(import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}, {sticky(), "10.0.0.8", "10.180.0.1"}}));
    CPPUNIT_ASSERT(rig.recent.added.empty());
    ok(rig.full({sticky()}));
    CPPUNIT_ASSERT(!open);
    std::vector<std::string> expected = {list_of(sticky(), 0) + " 10.0.0.8", list_of(sticky(), 1) + " 10.0.0.7"};
    CPPUNIT_ASSERT(expected == rig.recent.added);
    ok(rig.full({sticky()}));
    CPPUNIT_ASSERT(expected == rig.recent.added);  // once
  }

  void unknown_service_ports_and_endpoints_are_skipped() {
    IptablesRig rig;
    ServiceSpec plain = sticky();
    plain.name = "plain";
    plain.affinity_seconds = 0;
    plain.cluster_ip = "172.30.0.42";
    ServiceSpec gone = sticky();
    gone.name = "gone";
    rig.recent.exists = [&](const std::string& list) { return list != list_of(sticky(), 1); };
    ok(import(rig, {{plain, "10.0.0.7", "10.180.0.1"},
                      {gone, "10.0.0.7", "10.180.0.1"},
                      {sticky(), "10.0.0.7", "10.180.9.9"},
                      {sticky(), "10.0.0.6", "10.180.0.2"},
                      {sticky(), "10.0.0.5", "10.180.0.1"}}));
    ok(rig.full({sticky(), plain}));
    CPPUNIT_ASSERT(std::vector<std::string>{list_of(sticky(), 0) + " 10.0.0.5"} == rig.recent.added);
    CPPUNIT_ASSERT(std::none_of(rig.host.lines.begin(), rig.host.lines.end(),
                                [](const auto& line) { return line.first == abi::Severity::kWarning; }));
  }

  void second_import_binds_only_unbound_clients() {
    IptablesRig rig;
    rig.recent.exists = [](const std::string&) { return true; };
    ok(rig.full({sticky()}));
    rig.recent.lists[list_of(sticky(), 0)] = {{ip("10.0.0.7"), seconds(3)}, {ip("10.0.0.8"), seconds(200)}};
    ok(import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}, {sticky(), "10.0.0.8", "10.180.0.2"},
                      {sticky(), "10.0.0.9", "10.180.0.2"}, {sticky(), "10.0.0.9", "10.180.0.1"}}));
    const std::vector<std::string> expected = {list_of(sticky(), 1) + " 10.0.0.8", list_of(sticky(), 1) + " 10.0.0.9"};
    CPPUNIT_ASSERT(expected == rig.recent.added);
  }

  void binding_failures_are_logged() {
    IptablesRig rig;
    rig.recent.exists = [](const std::string&) { return true; };
    rig.recent.refuse = EACCES;
    ok(rig.full({sticky()}));
    ok(import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}}));
    CPPUNIT_ASSERT(std::any_of(rig.host.lines.begin(), rig.host.lines.end(), [](const auto& line) {
      return line.second == "1 clients with session affinity were not imported: Permission denied";
    }));
  }

  // If a list is full, the kernel replaces the oldest client.
  void full_list_gets_clients_with_the_longest_remaining_time() {
    IptablesRig rig;
    rig.recent.capacity = 3;
    ok(rig.full({sticky()}));
    rig.recent.lists[list_of(sticky(), 0)];
    rig.recent.lists[list_of(sticky(), 1)] = {{ip("10.0.0.1"), seconds(90)}, {ip("10.0.0.2"), seconds(100)}};
    ok(import(rig, {{sticky(), "10.0.0.7", "10.180.0.2", 90}, {sticky(), "10.0.0.8", "10.180.0.2", 10},
                      {sticky(), "10.0.0.9", "10.180.0.2", 80}, {sticky(), "10.0.0.1", "10.180.0.2", 99},
                      {sticky(), "10.0.0.10", "10.180.0.1", 1}}));
    const std::vector<std::string> expected = {list_of(sticky(), 0) + " 10.0.0.10", list_of(sticky(), 1) + " 10.0.0.9",
                                               list_of(sticky(), 1) + " 10.0.0.7"};
    CPPUNIT_ASSERT(expected == rig.recent.added);
    CPPUNIT_ASSERT(std::any_of(rig.host.lines.begin(), rig.host.lines.end(), [](const auto& line) {
      return line.second == "1 clients with session affinity were not imported: for each endpoint the kernel remembers 3 "
                            "(parameter ip_list_tot of the module xt_recent)";
    }));
  }

  static double cpu_seconds() {
    timespec used{};
    CPPUNIT_ASSERT_EQUAL(0, clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used));
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  }
  void imports_hundreds_of_thousands_of_clients_in_time() {
    const std::uint32_t clients = repetitions(262'144);
    IptablesRig rig;
    rig.recent.capacity = clients;
    ok(rig.full({sticky()}));
    rig.recent.lists[list_of(sticky(), 0)];
    rig.recent.lists[list_of(sticky(), 1)];
    World world;
    const abi::ServicePortKey key = world.key(sticky());
    std::vector<abi::AffinityClient> given(clients);
    for (std::uint32_t i = 0; i < clients; ++i) {
      given[i].key = key;
      const std::uint32_t scattered = i * 2654435761u;  // an odd factor: each value once
      given[i].client = ip("10.0.0.0");
      for (int byte = 0; byte < 4; ++byte) given[i].client.bytes[byte] = static_cast<std::uint8_t>(scattered >> (8 * byte));
      given[i].endpoint = ip(i % 2 == 0 ? "10.180.0.1" : "10.180.0.2");
      given[i].endpoint_port = 80;
      given[i].remaining_seconds = 1 + scattered % 100;
    }
    const double begin = cpu_seconds();
    ok(rig.affinity().import_clients(sdk::array(given.data(), given.size()), &rig.error));
    const double used = cpu_seconds() - begin;
    CPPUNIT_ASSERT_EQUAL(std::size_t{clients}, rig.recent.added.size());
    // The timeout of the call, measured in CPU time, with a reserve for slow builds.
    CPPUNIT_ASSERT(used < 10 * slowness());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IptablesAffinityTest);

}  // namespace affinity_test
}  // namespace sluice::test
