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
    IpvsRig rig;
    std::vector<ServiceSpec> both = many_services(2, 2);
    const std::string endpoint = both[0].endpoints.at(0).address;
    both[1].external_ips = {endpoint};
    const auto is_bound = [&] {
      return has(rig.links_text() + " ", " " + endpoint + " ") || has(rig.links_text(), " " + endpoint + "\n");
    };
    const auto is_withheld = [&] {
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
      CPPUNIT_ASSERT_MESSAGE(rig.host.failed[0],
                             has(rig.host.failed[0], both[1].name + ":") &&
                                 has(rig.host.failed[0], endpoint + " is the address of an endpoint"));
      CPPUNIT_ASSERT(!is_bound() && !has(rig.servers_text(), endpoint + ":80/TCP"));
      CPPUNIT_ASSERT(!has(rig.sets.text(), "KUBE-EXTERNAL-IP " + endpoint));
    };
    ok(rig, rig.full(both));
    is_withheld();
    std::vector<ServiceSpec> without = both;
    without[0].endpoints.erase(without[0].endpoints.begin());
    ok(rig, rig.delta({without[0]}));
    CPPUNIT_ASSERT(rig.host.failed.empty() && is_bound() && has(rig.servers_text(), endpoint + ":80/TCP"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.resyncs.size());
    ok(rig, rig.delta({both[0]}));
    is_withheld();
    ok(rig, rig.delta({both[1]}));
    is_withheld();
  }

  void foreign_objects_stay() {
    IpvsRig rig;
    put_server(rig, rig.key("203.0.113.9", 80));
    put_server(rig, rig.key("192.168.0.2", 6443));  // of the node, but not a node port
    put_server(rig, rig.key("192.0.2.9", 30001));   // the number of a node port at a foreign address
    rig.rules.foreign("*nat\n:FOREIGN - [0:0]\n-A FOREIGN -j RETURN\nCOMMIT\n");
    ok(rig, rig.full(services()));
    ok(rig, rig.delta({}, {services()[0]}));
    rig.restart();
    ok(rig, rig.full({}));
    CPPUNIT_ASSERT_EQUAL(std::string("192.0.2.9:30001/TCP rr 10.77.0.1:8080*1\n"
                                     "192.168.0.2:6443/TCP rr 10.77.0.1:8080*1\n"
                                     "203.0.113.9:80/TCP rr 10.77.0.1:8080*1\n"),
                         rig.servers_text());
    ok(rig, rig.verify());
    ok(rig, rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig.servers.held.size());
    CPPUNIT_ASSERT(rig.rules.has("nat", "FOREIGN"));
  }

  void objects_of_an_earlier_process_are_removed() {
    IpvsRig rig;
    std::vector<ServiceSpec> all = services();
    all[2].external_ips = {"192.168.99.11"};
    ok(rig, rig.full(all));
    rig.restart();
    ok(rig, rig.full({all[1]}));
    IpvsRig fresh;
    ok(fresh, fresh.full({all[1]}));
    CPPUNIT_ASSERT_EQUAL(fresh.kernel_text(), rig.kernel_text());
  }

  static constexpr const char* kPastAddress = "10.244.0.1";
  static constexpr const char* kOthers = "192.0.2.9:30001/TCP rr 10.77.0.1:8080*1\n";

  // A node port at an address that the node loses while no daemon runs; a foreign virtual server at another unknown
  // address.
  static void lose_an_address(IpvsRig& rig) {
    rig.node.local_addresses.push_back(kPastAddress);
    put_server(rig, rig.key("192.0.2.9", 30001));
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT(has(rig.servers_text(), "10.244.0.1:30001/TCP"));
    rig.node.local_addresses.pop_back();
    rig.restart();
  }

  void node_ports_at_a_lost_address_are_removed() {
    for (const char* how : {"cleanup", "retire", "drain", "full"}) {
      IpvsRig rig;
      lose_an_address(rig);
      if (how == std::string("cleanup")) ok(rig, rig.cleanup());
      if (how == std::string("retire")) ok(rig, rig.retire({}));
      if (how == std::string("drain")) ok(rig, rig.retire({}, 30));
      if (how == std::string("full")) {
        ok(rig, rig.full(services()));
        CPPUNIT_ASSERT(has(rig.servers_text(), "192.168.0.2:30001/TCP") && has(rig.servers_text(), kOthers));
        CPPUNIT_ASSERT_MESSAGE(rig.servers_text(), !has(rig.servers_text(), kPastAddress));
        CPPUNIT_ASSERT_MESSAGE(rig.sets.text(), !has(rig.sets.text(), kPastAddress));
        continue;
      }
      CPPUNIT_ASSERT_EQUAL_MESSAGE(how, std::string(kOthers), rig.servers_text());
      CPPUNIT_ASSERT_EQUAL_MESSAGE(how, std::string(), rig.sets.text());
    }
  }

  void node_ports_that_could_not_be_removed_are_found_later() {
    IpvsRig rig;
    lose_an_address(rig);
    rig.servers.meddle = [](const ipvs::ServerCommand& command) {
      if (command.kind == ipvs::ServerCommandKind::kDeleteServer) throw sdk::Failure(abi::Code::kRetry, "", "broken", 105);
    };
    CPPUNIT_ASSERT(rig.full(services()) == abi::Code::kRetry);
    CPPUNIT_ASSERT(has(rig.servers_text(), "10.244.0.1:30001/TCP"));
    rig.servers.meddle = nullptr;
    rig.restart();
    ok(rig, rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::string(kOthers), rig.servers_text());
  }

  void kube_proxy_state_is_adopted() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    // As kube-proxy leaves it, with connections; one real server is foreign by now.
    const ipvs::ServerKey key = rig.key("172.30.0.1", 80);
    for (auto& [real, state] : rig.servers.held.at(key).real) state.connections = 5;
    rig.sets.sets.at("KUBE-IPVS-IPS").entries.clear();  // older versions of kube-proxy have no entries
    rig.restart();
    ok(rig, rig.full({services()[0], services()[1]}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.servers.cut);
    CPPUNIT_ASSERT_MESSAGE(rig.links_text(), !has(rig.links_text(), "172.30.0.3"));
    CPPUNIT_ASSERT(!has(rig.servers_text(), "172.30.0.3"));
  }

  void excluded_ranges_are_not_touched() {
    IpvsRig rig(kFamily, {{"ipvs.excludeCIDRs", "172.30.0.2/32,203.0.113.0/24"}});
    put_server(rig, rig.key("172.30.0.2", 80));
    put_server(rig, rig.key("203.0.113.9", 80));
    const std::string foreign = rig.servers_text();
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.2:80/TCP rr 10.77.0.1:8080*1\n"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT_MESSAGE(rig.host.failed[0], has(rig.host.failed[0],
                                                     "bench/svc-1:p80: virtual server "
                                                     "172.30.0.2:80/TCP was not created by this program"));
    CPPUNIT_ASSERT(has(rig.servers_text(), "1.2.3.4:80/TCP rr 10.0.0.3"));
    ok(rig, rig.delta({services()[1]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    ok(rig, rig.delta({}, {services()[1]}));
    CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.2:80/TCP rr 10.77.0.1:8080*1\n"));
    ok(rig, rig.verify());
    ok(rig, rig.full({}));
    CPPUNIT_ASSERT_EQUAL(foreign, rig.servers_text());
  }

  static constexpr const char* kForeign = "172.30.0.2:80/TCP rr 10.77.0.1:8080*1\n";

  static void is_left_alone(const IpvsRig& rig) {
    CPPUNIT_ASSERT_MESSAGE(rig.servers_text(), has(rig.servers_text(), kForeign));
    CPPUNIT_ASSERT_MESSAGE(rig.sets.text(), !has(rig.sets.text(), "172.30.0.2"));
    CPPUNIT_ASSERT_MESSAGE(rig.links_text(), !has(rig.links_text(), "172.30.0.2"));
    // Another frontend of the same Service.
    CPPUNIT_ASSERT(has(rig.servers_text(), "1.2.3.4:80/TCP rr 10.0.0.3") && has(rig.links_text(), "1.2.3.4"));
    CPPUNIT_ASSERT(has(rig.sets.text(), "KUBE-LOAD-BALANCER 1.2.3.4,tcp:80\n"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT_MESSAGE(rig.host.failed[0], has(rig.host.failed[0],
                                                     "bench/svc-1:p80: virtual server "
                                                     "172.30.0.2:80/TCP was not created by this program"));
  }

  void excluded_ranges_stay_untouched() {
    for (const bool retiring : {false, true}) {
      IpvsRig rig(kFamily, {{"ipvs.excludeCIDRs", "172.30.0.2/32"}});
      put_server(rig, rig.key("172.30.0.2", 80));
      for (unsigned i = 0; i < 4; ++i) {
        if (i == 2) rig.restart();
        ok(rig, rig.full(services()));
        is_left_alone(rig);
        if (i != 0) CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
      }
      if (retiring) {
        ok(rig, rig.retire({}, 30));
      } else {
        rig.restart();
        ok(rig, rig.cleanup());
      }
      CPPUNIT_ASSERT_EQUAL(std::string(kForeign), rig.servers_text());
    }
  }

  void a_node_port_in_an_excluded_range_stays_untouched() {
    IpvsRig rig(kFamily, {{"ipvs.excludeCIDRs", "192.168.0.0/24"}});
    const std::string foreign = "192.168.0.2:30001/TCP rr 10.77.0.1:8080*1\n";
    rig.node.local_addresses.push_back("10.244.0.1");
    put_server(rig, rig.key("192.168.0.2", 30001));
    for (unsigned i = 0; i < 4; ++i) {
      if (i == 2) rig.restart();
      ok(rig, rig.full(services()));
      CPPUNIT_ASSERT_MESSAGE(rig.servers_text(), has(rig.servers_text(), foreign));
      CPPUNIT_ASSERT(!has(rig.servers_text(), "10.244.0.1:30001") && !has(rig.sets.text(), "30001"));
      CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.1:80/TCP rr 10.0.0.1"));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    }
    rig.restart();
    ok(rig, rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(foreign, rig.servers_text());
    rig.servers.held.clear();
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT(has(rig.servers_text(), "192.168.0.2:30001/TCP rr 10.0.0.1"));
    CPPUNIT_ASSERT(has(rig.servers_text(), "10.244.0.1:30001/TCP rr 10.0.0.1"));
    CPPUNIT_ASSERT(has(rig.sets.text(), "KUBE-NODE-PORT-TCP 30001\n") && rig.host.failed.empty());
  }

  void new_foreign_servers_in_excluded_ranges_are_not_touched() {
    IpvsRig rig(kFamily, {{"ipvs.excludeCIDRs", "172.30.0.2/32"}});
    ok(rig, rig.full({services()[0]}));
    put_server(rig, rig.key("172.30.0.2", 80));
    rig.servers.log.clear();
    ok(rig, rig.delta({services()[1], services()[2]}));
    is_left_alone(rig);
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.logged(abi::Severity::kWarning));
    ok(rig, rig.verify());
    ok(rig, rig.delta({services()[1]}));
    is_left_alone(rig);
    for (unsigned i = 0; i < 2; ++i) {
      ok(rig, rig.full(services()));
      is_left_alone(rig);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
      rig.restart();
    }
    ok(rig, rig.full(services()));
    is_left_alone(rig);
    rig.servers.held.erase(rig.key("172.30.0.2", 80));
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    IpvsRig fresh;
    ok(fresh, fresh.full(services()));
    CPPUNIT_ASSERT_EQUAL(fresh.kernel_text(), rig.kernel_text());
  }

  void new_foreign_servers_before_a_failure_are_not_touched() {
    IpvsRig rig(kFamily, {{"ipvs.excludeCIDRs", "172.30.0.2/32"}});
    ok(rig, rig.full({services()[0]}));
    put_server(rig, rig.key("172.30.0.2", 80));
    rig.servers.meddle = [&](const ipvs::ServerCommand& command) {
      if (command.server.key == rig.key("172.30.0.3", 80)) throw sdk::Failure(abi::Code::kRetry, "", "broken", 105);
    };
    CPPUNIT_ASSERT(rig.delta({services()[1], services()[2]}) == abi::Code::kRetry);
    rig.servers.meddle = nullptr;
    ok(rig, rig.full(services()));
    is_left_alone(rig);
    ok(rig, rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::string(kForeign), rig.servers_text());
  }

  void a_node_port_that_appears_in_an_excluded_range_is_not_touched() {
    IpvsRig rig(kFamily, {{"ipvs.excludeCIDRs", "192.168.0.0/24"}});
    const std::string foreign = "192.168.0.2:30001/TCP rr 10.77.0.1:8080*1\n";
    rig.node.local_addresses.push_back("10.244.0.1");
    ok(rig, rig.full({}));
    put_server(rig, rig.key("192.168.0.2", 30001));
    ok(rig, rig.delta({services()[0]}));
    for (unsigned i = 0; i < 3; ++i) {
      CPPUNIT_ASSERT_EQUAL("172.30.0.1:80/TCP rr 10.0.0.1:8080*1 10.0.0.2:8080*1\n" + foreign, rig.servers_text());
      CPPUNIT_ASSERT(!has(rig.sets.text(), "30001"));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
      if (i == 1) rig.restart();
      ok(rig, rig.full({services()[0]}));
    }
    ok(rig, rig.retire({}));
    CPPUNIT_ASSERT_EQUAL(foreign, rig.servers_text());
  }

  // Node addresses are often excluded: a load balancer of the control plane may use them.
  void own_virtual_servers_in_excluded_ranges_are_kept_current() {
    IpvsRig rig(kFamily, {{"ipvs.excludeCIDRs", "192.168.0.0/24"}});
    put_server(rig, rig.key("192.168.0.2", 6443));
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT(has(rig.servers_text(), "192.168.0.2:30001/TCP rr 10.0.0.1:8080*1 10.0.0.2:8080*1\n"));
    rig.restart();
    std::vector<ServiceSpec> changed = services();
    changed[0].endpoints.pop_back();
    ok(rig, rig.full(changed));
    ok(rig, rig.verify());
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT(has(rig.servers_text(), "192.168.0.2:30001/TCP rr 10.0.0.1:8080*1\n"));
    ok(rig, rig.full({}));
    CPPUNIT_ASSERT_EQUAL(std::string("192.168.0.2:6443/TCP rr 10.77.0.1:8080*1\n"), rig.servers_text());
  }

  void foreign_addresses_on_the_link_stay() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    rig.links.links.at("kube-ipvs0").addresses[kFamily].insert(address("203.0.113.77"));
    ok(rig, rig.verify());
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT(has(rig.links_text(), "203.0.113.77"));
    rig.sets.sets.at("KUBE-IPVS-IPS").entries.clear();
    ok(rig, rig.full({}));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 203.0.113.77\n"), rig.links_text());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsOwnershipTest);

}  // namespace backend_ownership_test
}  // namespace sluice::test
