// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Ownership: foreign virtual servers and addresses stay, in excludeCIDRs and outside; ours of an earlier process go.
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/ipvs/backend_fixture.hpp"

namespace sluice::test {
namespace backend_ownership_test {

class IpvsOwnershipTest : public IpvsFixture {
  CPPUNIT_TEST_SUITE(IpvsOwnershipTest);
  CPPUNIT_TEST(foreign_objects_stay);
  CPPUNIT_TEST(objects_of_an_earlier_process_are_removed);
  CPPUNIT_TEST(node_ports_at_a_lost_address_are_removed);
  CPPUNIT_TEST(node_ports_that_could_not_be_removed_are_found_later);
  CPPUNIT_TEST(kube_proxy_state_is_adopted);
  CPPUNIT_TEST(excluded_ranges_are_not_touched);
  CPPUNIT_TEST(excluded_ranges_stay_untouched);
  CPPUNIT_TEST(a_node_port_in_an_excluded_range_stays_untouched);
  CPPUNIT_TEST(new_foreign_servers_in_excluded_ranges_are_not_touched);
  CPPUNIT_TEST(new_foreign_servers_before_a_failure_are_not_touched);
  CPPUNIT_TEST(a_node_port_that_appears_in_an_excluded_range_is_not_touched);
  CPPUNIT_TEST(own_virtual_servers_in_excluded_ranges_are_kept_current);
  CPPUNIT_TEST(foreign_addresses_on_the_link_stay);
  CPPUNIT_TEST(an_external_address_of_an_endpoint_is_not_bound);
  CPPUNIT_TEST_SUITE_END();

  void an_external_address_of_an_endpoint_is_not_bound() {
    IpvsBench bench;
    std::vector<ServiceSpec> both = many_services(2, 2);
    const std::string endpoint = both[0].endpoints.at(0).address;
    both[1].external_ips = {endpoint};
    const auto is_bound = [&] {
      return has(bench.links_text() + " ", " " + endpoint + " ") || has(bench.links_text(), " " + endpoint + "\n");
    };
    const auto is_withheld = [&] {
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.host.failed.size());
      CPPUNIT_ASSERT_MESSAGE(bench.host.failed[0],
                             has(bench.host.failed[0], both[1].name + ":") &&
                                 has(bench.host.failed[0], endpoint + " is the address of an endpoint"));
      CPPUNIT_ASSERT(!is_bound() && !has(bench.servers_text(), endpoint + ":80/TCP"));
      CPPUNIT_ASSERT(!has(bench.sets.text(), "KUBE-EXTERNAL-IP " + endpoint));
    };
    ok(bench, bench.full(both));
    is_withheld();
    std::vector<ServiceSpec> without = both;
    without[0].endpoints.erase(without[0].endpoints.begin());
    ok(bench, bench.delta({without[0]}));
    CPPUNIT_ASSERT(bench.host.failed.empty() && is_bound() && has(bench.servers_text(), endpoint + ":80/TCP"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.host.resyncs.size());
    ok(bench, bench.delta({both[0]}));
    is_withheld();
    ok(bench, bench.delta({both[1]}));
    is_withheld();
  }

  void foreign_objects_stay() {
    IpvsBench bench;
    put_server(bench, bench.key("203.0.113.9", 80));
    put_server(bench, bench.key("192.168.0.2", 6443));  // of the node, but not a node port
    put_server(bench, bench.key("192.0.2.9", 30001));   // the number of a node port at a foreign address
    bench.rules.foreign("*nat\n:FOREIGN - [0:0]\n-A FOREIGN -j RETURN\nCOMMIT\n");
    ok(bench, bench.full(services()));
    ok(bench, bench.delta({}, {services()[0]}));
    bench.restart();
    ok(bench, bench.full({}));
    CPPUNIT_ASSERT_EQUAL(std::string("192.0.2.9:30001/TCP rr 10.77.0.1:8080*1\n"
                                     "192.168.0.2:6443/TCP rr 10.77.0.1:8080*1\n"
                                     "203.0.113.9:80/TCP rr 10.77.0.1:8080*1\n"),
                         bench.servers_text());
    ok(bench, bench.verify());
    ok(bench, bench.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, bench.servers.held.size());
    CPPUNIT_ASSERT(bench.rules.has("nat", "FOREIGN"));
  }

  void objects_of_an_earlier_process_are_removed() {
    IpvsBench bench;
    std::vector<ServiceSpec> all = services();
    all[2].external_ips = {"192.168.99.11"};
    ok(bench, bench.full(all));
    bench.restart();
    ok(bench, bench.full({all[1]}));
    IpvsBench fresh;
    ok(fresh, fresh.full({all[1]}));
    CPPUNIT_ASSERT_EQUAL(fresh.kernel_text(), bench.kernel_text());
  }

  static constexpr const char* kPastAddress = "10.244.0.1";
  static constexpr const char* kOthers = "192.0.2.9:30001/TCP rr 10.77.0.1:8080*1\n";

  // A node port at an address that the node loses while no daemon runs; a foreign virtual server at another unknown
  // address.
  static void lose_an_address(IpvsBench& bench) {
    bench.node.local_addresses.push_back(kPastAddress);
    put_server(bench, bench.key("192.0.2.9", 30001));
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT(has(bench.servers_text(), "10.244.0.1:30001/TCP"));
    bench.node.local_addresses.pop_back();
    bench.restart();
  }

  void node_ports_at_a_lost_address_are_removed() {
    for (const char* how : {"cleanup", "retire", "drain", "full"}) {
      IpvsBench bench;
      lose_an_address(bench);
      if (how == std::string("cleanup")) ok(bench, bench.cleanup());
      if (how == std::string("retire")) ok(bench, bench.retire({}));
      if (how == std::string("drain")) ok(bench, bench.retire({}, 30));
      if (how == std::string("full")) {
        ok(bench, bench.full(services()));
        CPPUNIT_ASSERT(has(bench.servers_text(), "192.168.0.2:30001/TCP") && has(bench.servers_text(), kOthers));
        CPPUNIT_ASSERT_MESSAGE(bench.servers_text(), !has(bench.servers_text(), kPastAddress));
        CPPUNIT_ASSERT_MESSAGE(bench.sets.text(), !has(bench.sets.text(), kPastAddress));
        continue;
      }
      CPPUNIT_ASSERT_EQUAL_MESSAGE(how, std::string(kOthers), bench.servers_text());
      CPPUNIT_ASSERT_EQUAL_MESSAGE(how, std::string(), bench.sets.text());
    }
  }

  void node_ports_that_could_not_be_removed_are_found_later() {
    IpvsBench bench;
    lose_an_address(bench);
    bench.servers.meddle = [](const ipvs::ServerCommand& command) {
      if (command.kind == ipvs::ServerCommandKind::kDeleteServer) throw sdk::Failure(abi::Code::kRetry, "", "broken", 105);
    };
    CPPUNIT_ASSERT(bench.full(services()) == abi::Code::kRetry);
    CPPUNIT_ASSERT(has(bench.servers_text(), "10.244.0.1:30001/TCP"));
    bench.servers.meddle = nullptr;
    bench.restart();
    ok(bench, bench.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::string(kOthers), bench.servers_text());
  }

  void kube_proxy_state_is_adopted() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    // As kube-proxy leaves it, with connections; one real server is foreign by now.
    const ipvs::ServerKey key = bench.key("172.30.0.1", 80);
    for (auto& [real, state] : bench.servers.held.at(key).real) state.connections = 5;
    bench.sets.sets.at("KUBE-IPVS-IPS").entries.clear();  // older versions of kube-proxy have no entries
    bench.restart();
    ok(bench, bench.full({services()[0], services()[1]}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, bench.servers.cut);
    CPPUNIT_ASSERT_MESSAGE(bench.links_text(), !has(bench.links_text(), "172.30.0.3"));
    CPPUNIT_ASSERT(!has(bench.servers_text(), "172.30.0.3"));
  }

  void excluded_ranges_are_not_touched() {
    IpvsBench bench(kFamily, {{"ipvs.excludeCIDRs", "172.30.0.2/32,203.0.113.0/24"}});
    put_server(bench, bench.key("172.30.0.2", 80));
    put_server(bench, bench.key("203.0.113.9", 80));
    const std::string foreign = bench.servers_text();
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT(has(bench.servers_text(), "172.30.0.2:80/TCP rr 10.77.0.1:8080*1\n"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.host.failed.size());
    CPPUNIT_ASSERT_MESSAGE(bench.host.failed[0], has(bench.host.failed[0],
                                                     "bench/svc-1:p80: virtual server "
                                                     "172.30.0.2:80/TCP was not created by this program"));
    CPPUNIT_ASSERT(has(bench.servers_text(), "1.2.3.4:80/TCP rr 10.0.0.3"));
    ok(bench, bench.delta({services()[1]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.host.failed.size());
    ok(bench, bench.delta({}, {services()[1]}));
    CPPUNIT_ASSERT(has(bench.servers_text(), "172.30.0.2:80/TCP rr 10.77.0.1:8080*1\n"));
    ok(bench, bench.verify());
    ok(bench, bench.full({}));
    CPPUNIT_ASSERT_EQUAL(foreign, bench.servers_text());
  }

  static constexpr const char* kForeign = "172.30.0.2:80/TCP rr 10.77.0.1:8080*1\n";

  static void is_left_alone(const IpvsBench& bench) {
    CPPUNIT_ASSERT_MESSAGE(bench.servers_text(), has(bench.servers_text(), kForeign));
    CPPUNIT_ASSERT_MESSAGE(bench.sets.text(), !has(bench.sets.text(), "172.30.0.2"));
    CPPUNIT_ASSERT_MESSAGE(bench.links_text(), !has(bench.links_text(), "172.30.0.2"));
    // Another frontend of the same Service.
    CPPUNIT_ASSERT(has(bench.servers_text(), "1.2.3.4:80/TCP rr 10.0.0.3") && has(bench.links_text(), "1.2.3.4"));
    CPPUNIT_ASSERT(has(bench.sets.text(), "KUBE-LOAD-BALANCER 1.2.3.4,tcp:80\n"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.host.failed.size());
    CPPUNIT_ASSERT_MESSAGE(bench.host.failed[0], has(bench.host.failed[0],
                                                     "bench/svc-1:p80: virtual server "
                                                     "172.30.0.2:80/TCP was not created by this program"));
  }

  void excluded_ranges_stay_untouched() {
    for (const bool retiring : {false, true}) {
      IpvsBench bench(kFamily, {{"ipvs.excludeCIDRs", "172.30.0.2/32"}});
      put_server(bench, bench.key("172.30.0.2", 80));
      for (unsigned i = 0; i < 4; ++i) {
        if (i == 2) bench.restart();
        ok(bench, bench.full(services()));
        is_left_alone(bench);
        if (i != 0) CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, bench.result.kernel_writes);
      }
      if (retiring) {
        ok(bench, bench.retire({}, 30));
      } else {
        bench.restart();
        ok(bench, bench.cleanup());
      }
      CPPUNIT_ASSERT_EQUAL(std::string(kForeign), bench.servers_text());
    }
  }

  void a_node_port_in_an_excluded_range_stays_untouched() {
    IpvsBench bench(kFamily, {{"ipvs.excludeCIDRs", "192.168.0.0/24"}});
    const std::string foreign = "192.168.0.2:30001/TCP rr 10.77.0.1:8080*1\n";
    bench.node.local_addresses.push_back("10.244.0.1");
    put_server(bench, bench.key("192.168.0.2", 30001));
    for (unsigned i = 0; i < 4; ++i) {
      if (i == 2) bench.restart();
      ok(bench, bench.full(services()));
      CPPUNIT_ASSERT_MESSAGE(bench.servers_text(), has(bench.servers_text(), foreign));
      CPPUNIT_ASSERT(!has(bench.servers_text(), "10.244.0.1:30001") && !has(bench.sets.text(), "30001"));
      CPPUNIT_ASSERT(has(bench.servers_text(), "172.30.0.1:80/TCP rr 10.0.0.1"));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.host.failed.size());
    }
    bench.restart();
    ok(bench, bench.cleanup());
    CPPUNIT_ASSERT_EQUAL(foreign, bench.servers_text());
    bench.servers.held.clear();
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT(has(bench.servers_text(), "192.168.0.2:30001/TCP rr 10.0.0.1"));
    CPPUNIT_ASSERT(has(bench.servers_text(), "10.244.0.1:30001/TCP rr 10.0.0.1"));
    CPPUNIT_ASSERT(has(bench.sets.text(), "KUBE-NODE-PORT-TCP 30001\n") && bench.host.failed.empty());
  }

  void new_foreign_servers_in_excluded_ranges_are_not_touched() {
    IpvsBench bench(kFamily, {{"ipvs.excludeCIDRs", "172.30.0.2/32"}});
    ok(bench, bench.full({services()[0]}));
    put_server(bench, bench.key("172.30.0.2", 80));
    bench.servers.log.clear();
    ok(bench, bench.delta({services()[1], services()[2]}));
    is_left_alone(bench);
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.logged(abi::Severity::kWarning));
    ok(bench, bench.verify());
    ok(bench, bench.delta({services()[1]}));
    is_left_alone(bench);
    for (unsigned i = 0; i < 2; ++i) {
      ok(bench, bench.full(services()));
      is_left_alone(bench);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, bench.result.kernel_writes);
      bench.restart();
    }
    ok(bench, bench.full(services()));
    is_left_alone(bench);
    bench.servers.held.erase(bench.key("172.30.0.2", 80));
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT(bench.host.failed.empty());
    IpvsBench fresh;
    ok(fresh, fresh.full(services()));
    CPPUNIT_ASSERT_EQUAL(fresh.kernel_text(), bench.kernel_text());
  }

  void new_foreign_servers_before_a_failure_are_not_touched() {
    IpvsBench bench(kFamily, {{"ipvs.excludeCIDRs", "172.30.0.2/32"}});
    ok(bench, bench.full({services()[0]}));
    put_server(bench, bench.key("172.30.0.2", 80));
    bench.servers.meddle = [&](const ipvs::ServerCommand& command) {
      if (command.server.key == bench.key("172.30.0.3", 80)) throw sdk::Failure(abi::Code::kRetry, "", "broken", 105);
    };
    CPPUNIT_ASSERT(bench.delta({services()[1], services()[2]}) == abi::Code::kRetry);
    bench.servers.meddle = nullptr;
    ok(bench, bench.full(services()));
    is_left_alone(bench);
    ok(bench, bench.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::string(kForeign), bench.servers_text());
  }

  void a_node_port_that_appears_in_an_excluded_range_is_not_touched() {
    IpvsBench bench(kFamily, {{"ipvs.excludeCIDRs", "192.168.0.0/24"}});
    const std::string foreign = "192.168.0.2:30001/TCP rr 10.77.0.1:8080*1\n";
    bench.node.local_addresses.push_back("10.244.0.1");
    ok(bench, bench.full({}));
    put_server(bench, bench.key("192.168.0.2", 30001));
    ok(bench, bench.delta({services()[0]}));
    for (unsigned i = 0; i < 3; ++i) {
      CPPUNIT_ASSERT_EQUAL("172.30.0.1:80/TCP rr 10.0.0.1:8080*1 10.0.0.2:8080*1\n" + foreign, bench.servers_text());
      CPPUNIT_ASSERT(!has(bench.sets.text(), "30001"));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.host.failed.size());
      if (i == 1) bench.restart();
      ok(bench, bench.full({services()[0]}));
    }
    ok(bench, bench.retire({}));
    CPPUNIT_ASSERT_EQUAL(foreign, bench.servers_text());
  }

  // Node addresses are often excluded: a load balancer of the control plane may use them.
  void own_virtual_servers_in_excluded_ranges_are_kept_current() {
    IpvsBench bench(kFamily, {{"ipvs.excludeCIDRs", "192.168.0.0/24"}});
    put_server(bench, bench.key("192.168.0.2", 6443));
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT(bench.host.failed.empty());
    CPPUNIT_ASSERT(has(bench.servers_text(), "192.168.0.2:30001/TCP rr 10.0.0.1:8080*1 10.0.0.2:8080*1\n"));
    bench.restart();
    std::vector<ServiceSpec> changed = services();
    changed[0].endpoints.pop_back();
    ok(bench, bench.full(changed));
    ok(bench, bench.verify());
    CPPUNIT_ASSERT(bench.host.failed.empty());
    CPPUNIT_ASSERT(has(bench.servers_text(), "192.168.0.2:30001/TCP rr 10.0.0.1:8080*1\n"));
    ok(bench, bench.full({}));
    CPPUNIT_ASSERT_EQUAL(std::string("192.168.0.2:6443/TCP rr 10.77.0.1:8080*1\n"), bench.servers_text());
  }

  void foreign_addresses_on_the_link_stay() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    bench.links.links.at("kube-ipvs0").addresses[kFamily].insert(address("203.0.113.77"));
    ok(bench, bench.verify());
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT(has(bench.links_text(), "203.0.113.77"));
    bench.sets.sets.at("KUBE-IPVS-IPS").entries.clear();
    ok(bench, bench.full({}));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 203.0.113.77\n"), bench.links_text());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsOwnershipTest);

}  // namespace backend_ownership_test
}  // namespace sluice::test
