// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The exact input sent to the kernel by full and delta transactions.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "sluice/sdk/error.hpp"
#include "test/unit/userspace/portal/portal_rig.hpp"

namespace sluice::test {
namespace portal_writer_test {

constexpr char kTo[] = " -m tcp --dport 80 -d 172.30.0.41/32 -j REDIRECT --to-ports ";

class PortalWriterTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PortalWriterTest);
  CPPUNIT_TEST(a_full_makes_chains_rules_and_jumps);
  CPPUNIT_TEST(the_same_again_writes_nothing);
  CPPUNIT_TEST(a_full_writes_the_difference_only);
  CPPUNIT_TEST(rules_of_one_service_port_are_put_in_order);
  CPPUNIT_TEST(a_chain_with_many_unwanted_rules_is_rewritten);
  CPPUNIT_TEST(jumps_follow_the_node);
  CPPUNIT_TEST(jumps_in_the_wrong_order_are_repaired);
  CPPUNIT_TEST(a_delta_writes_single_lines_without_reading);
  CPPUNIT_TEST(a_delta_keeps_unchanged_rules);
  CPPUNIT_TEST(a_delta_that_loses_the_local_endpoint_drops_first);
  CPPUNIT_TEST(the_first_endpoint_is_served_before_its_rejection_goes);
  CPPUNIT_TEST(a_full_that_rewrites_the_firewall_has_no_gap);
  CPPUNIT_TEST(a_delta_needs_a_full_before);
  CPPUNIT_TEST(every_change_by_delta_ends_where_a_full_would);
  CPPUNIT_TEST(large_inputs_are_split_for_nf_tables_only);
  CPPUNIT_TEST_SUITE_END();

  void a_full_makes_chains_rules_and_jumps() {
    PortalRig rig;
    const auto written = rig.full({simple()});
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "*filter\n"
            ":KUBE-NODEPORT-NON-LOCAL - [0:0]\n"
            ":KUBE-PORTALS-FIREWALL - [0:0]\n"
            "-I INPUT -m comment --comment \"Ensure that non-local NodePort traffic can flow\" "
            "-j KUBE-NODEPORT-NON-LOCAL\n"
            "-I INPUT -m conntrack --ctstate NEW -m comment --comment \"drop what may not use a service portal\" "
            "-j KUBE-PORTALS-FIREWALL\n"
            "-I FORWARD -m conntrack --ctstate NEW -m comment --comment \"drop what may not use a service portal\" "
            "-j KUBE-PORTALS-FIREWALL\n"
            "-I OUTPUT -m conntrack --ctstate NEW -m mark ! --mark 0x00001000/0x00001000 -m comment --comment \"drop "
            "what may not use a service portal\" "
            "-j KUBE-PORTALS-FIREWALL\n"
            "COMMIT\n"
            "*nat\n"
            ":KUBE-PORTALS-CONTAINER - [0:0]\n"
            ":KUBE-PORTALS-HOST - [0:0]\n"
            ":KUBE-NODEPORT-CONTAINER - [0:0]\n"
            ":KUBE-NODEPORT-HOST - [0:0]\n"
            "-A KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp") +
            kTo +
            "40001\n"
            "-A KUBE-PORTALS-HOST -m comment --comment ns1/svc1:p80 -p tcp" +
            kTo +
            "40001\n"
            "-I PREROUTING -m comment --comment \"handle ClusterIPs; NOTE: this must be before the NodePort rules\" "
            "-j KUBE-PORTALS-CONTAINER\n"
            "-I OUTPUT -m mark ! --mark 0x00001000/0x00001000 -m comment --comment \"handle ClusterIPs; NOTE: this "
            "must be before the NodePort rules\" "
            "-j KUBE-PORTALS-HOST\n"
            "-A PREROUTING -m addrtype --dst-type LOCAL -m comment --comment \"handle service NodePorts; NOTE: this "
            "must be the last rule in the chain\" -j KUBE-NODEPORT-CONTAINER\n"
            "-A OUTPUT -m addrtype --dst-type LOCAL -m mark ! --mark 0x00001000/0x00001000 -m comment --comment "
            "\"handle service NodePorts; NOTE: this must be the last rule in the chain\" -j KUBE-NODEPORT-HOST\n"
            "COMMIT\n",
        rig.sent());
    CPPUNIT_ASSERT_EQUAL(std::size_t{16}, written.lines);
    CPPUNIT_ASSERT_EQUAL(std::size_t{10}, written.rules);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.saves);
  }

  void the_same_again_writes_nothing() {
    PortalRig rig;
    rig.full({policy_local(true), another()});
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.full({another(), policy_local(true)}).lines);
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.sent());
    rig.restart();
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.full({policy_local(true), another()}).lines);
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.sent());
  }

  void a_full_writes_the_difference_only() {
    PortalRig rig;
    rig.full({simple(), another()});
    rig.kernel.foreign(
        "*nat\n-A KUBE-PORTALS-HOST -j RETURN\n-D KUBE-PORTALS-CONTAINER -m comment --comment "
        "ns1/svc2:p80 -p tcp -m tcp --dport 80 -d 172.30.0.42/32 -j REDIRECT --to-ports 40001\nCOMMIT\n");
    rig.full({another()});
    CPPUNIT_ASSERT_EQUAL(std::string("*nat\n"
                                     "-D KUBE-PORTALS-HOST -j RETURN\n"
                                     "-D KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp") +
                             kTo +
                             "40001\n"
                             "-D KUBE-PORTALS-HOST -m comment --comment ns1/svc1:p80 -p tcp" +
                             kTo +
                             "40001\n"
                             "-A KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc2:p80 -p tcp -m tcp --dport 80 "
                             "-d 172.30.0.42/32 -j REDIRECT --to-ports 40001\n"
                             "COMMIT\n",
                         rig.sent());
    rig.restart();
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.full({another()}).lines);
  }

  void rules_of_one_service_port_are_put_in_order() {
    PortalRig rig;
    const ServiceSpec spec = policy_local(true);
    rig.full({spec});
    auto& chain = rig.kernel.tables["nat"]["KUBE-NODEPORT-CONTAINER"];
    const auto wanted = chain;
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, chain.size());
    std::swap(chain[0], chain[1]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.full({spec}).lines);  // one rule is removed and added
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    CPPUNIT_ASSERT(wanted == chain);
  }

  void a_chain_with_many_unwanted_rules_is_rewritten() {
    PortalRig rig;
    std::vector<ServiceSpec> services = many_services(60, 1);
    rig.full(services);
    services.resize(3);
    services[1].cluster_ip = "172.30.9.9";
    const auto written = rig.full(services);
    CPPUNIT_ASSERT_EQUAL(std::size_t{8}, written.lines);  // two chains, three rules each
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig.kernel.rules("nat", "KUBE-PORTALS-HOST").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.full(services).lines);
  }

  void jumps_follow_the_node() {
    PortalRig rig;
    rig.full({another()});
    NodeSpec node;
    node.flags = 0;
    node.node_port_addresses = {"192.168.0.2"};
    rig.facts = test::portal_facts(node);
    rig.kernel.foreign("*nat\n-A OUTPUT -m comment --comment foreign -j KUBE-NODEPORT-HOST\nCOMMIT\n");
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, rig.full({another()}).lines);
    rig.expect("PASS", {"203.0.113.2", "192.168.1.2", "tcp", 30002, "eth0"});
    rig.expect(":40001", {"203.0.113.2", "192.168.0.2", "tcp", 30002, "eth0"});
    CPPUNIT_ASSERT(rig.sent().find("foreign") == std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.full({another()}).lines);
  }

  void jumps_in_the_wrong_order_are_repaired() {
    PortalRig rig;
    rig.full({another()});
    auto& chain = rig.kernel.tables["nat"]["PREROUTING"];
    const auto wanted = chain;
    std::swap(chain[0], chain[1]);
    rig.kernel.foreign("*nat\n-I OUTPUT -j ACCEPT\nCOMMIT\n");
    const auto drift = rig.writer->find_drift();
    CPPUNIT_ASSERT(drift && drift->find("handle service NodePorts") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.full({another()}).lines);
    CPPUNIT_ASSERT(wanted == chain);
  }

  void a_delta_writes_single_lines_without_reading() {
    PortalRig rig;
    rig.full({simple()});
    const std::size_t looks = rig.kernel.saves;
    rig.delta({another()});
    CPPUNIT_ASSERT_EQUAL(
        std::string("*filter\n"
                    "-A KUBE-NODEPORT-NON-LOCAL -m comment --comment ns1/svc2:p80 -p tcp -m tcp --dport 40001 -m state "
                    "--state NEW -j ACCEPT\n"
                    "COMMIT\n"
                    "*nat\n"
                    "-A KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc2:p80 -p tcp -m tcp --dport 80 -d "
                    "172.30.0.42/32 -j REDIRECT --to-ports 40001\n"
                    "-A KUBE-PORTALS-HOST -m comment --comment ns1/svc2:p80 -p tcp -m tcp --dport 80 -d "
                    "172.30.0.42/32 -j REDIRECT --to-ports 40001\n"
                    "-A KUBE-NODEPORT-CONTAINER -m comment --comment ns1/svc2:p80 -p tcp -m tcp --dport 30002 -j "
                    "REDIRECT --to-ports 40001\n"
                    "-A KUBE-NODEPORT-HOST -m comment --comment ns1/svc2:p80 -p tcp -m tcp --dport 30002 -j REDIRECT "
                    "--to-ports 40001\n"
                    "COMMIT\n"),
        rig.sent());
    rig.delta({}, {{"ns1/svc1:p80", abi::Protocol::kTcp}, {"ns1/unknown:p80", abi::Protocol::kTcp}});
    CPPUNIT_ASSERT_EQUAL(std::string("*nat\n"
                                     "-D KUBE-PORTALS-CONTAINER -m comment --comment ns1/svc1:p80 -p tcp") +
                             kTo +
                             "40001\n"
                             "-D KUBE-PORTALS-HOST -m comment --comment ns1/svc1:p80 -p tcp" +
                             kTo +
                             "40001\n"
                             "COMMIT\n",
                         rig.sent());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.delta({another()}).lines);
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.sent());
    CPPUNIT_ASSERT_EQUAL(looks, rig.kernel.saves);
    CPPUNIT_ASSERT(!rig.writer->find_drift());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.full({another()}).lines);
  }

  void a_delta_keeps_unchanged_rules() {
    PortalRig rig;
    rig.full({another()});
    ServiceSpec spec = another();
    spec.node_port = 30003;
    rig.delta({spec});
    CPPUNIT_ASSERT_EQUAL(
        std::string("*nat\n"
                    "-D KUBE-NODEPORT-CONTAINER -m comment --comment ns1/svc2:p80 -p tcp -m tcp --dport 30002 -j "
                    "REDIRECT --to-ports 40001\n"
                    "-D KUBE-NODEPORT-HOST -m comment --comment ns1/svc2:p80 -p tcp -m tcp --dport 30002 -j REDIRECT "
                    "--to-ports 40001\n"
                    "-A KUBE-NODEPORT-CONTAINER -m comment --comment ns1/svc2:p80 -p tcp -m tcp --dport 30003 -j "
                    "REDIRECT --to-ports 40001\n"
                    "-A KUBE-NODEPORT-HOST -m comment --comment ns1/svc2:p80 -p tcp -m tcp --dport 30003 -j REDIRECT "
                    "--to-ports 40001\n"
                    "COMMIT\n"),
        rig.sent());
  }

  // filter, nat, filter again: a client meets the old listener or the DROP, never nothing.
  void a_delta_that_loses_the_local_endpoint_drops_first() {
    PortalRig rig;
    rig.full({policy_local(true)});
    rig.delta({policy_local(false)});
    const std::string drop =
        "KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 has no local endpoints\" -p tcp -m tcp --dport "
        "30001 "
        "-m addrtype --dst-type LOCAL -j DROP\n";
    const std::string served =
        "KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 is served\" -p tcp -m tcp --dport 30001 "
        "-m addrtype --dst-type LOCAL ";
    const std::string pods = served + "-s 10.0.0.0/8 -j RETURN\n";
    const std::string node = served + "-m addrtype --src-type LOCAL -j RETURN\n";
    const std::string listener =
        "KUBE-NODEPORT-CONTAINER -m comment --comment \"ns1/svc1:p80 local\" -p tcp -m tcp --dport 30001 -j REDIRECT "
        "--to-ports 40002\n";
    const std::string accept =
        "KUBE-NODEPORT-NON-LOCAL -m comment --comment \"ns1/svc1:p80 local\" -p tcp -m tcp --dport 40002 -m state "
        "--state NEW -j ACCEPT\n";
    CPPUNIT_ASSERT_EQUAL("*filter\n-A " + pods + "-A " + node + "-A " + drop + "COMMIT\n*nat\n-D " + listener +
                             "COMMIT\n*filter\n-D " + accept + "COMMIT\n",
                         rig.sent());
    rig.delta({policy_local(true)});
    CPPUNIT_ASSERT_EQUAL("*filter\n-A " + accept + "COMMIT\n*nat\n-A " + listener + "COMMIT\n*filter\n-D " + pods +
                             "-D " + node + "-D " + drop + "COMMIT\n",
                         rig.sent());
  }

  // filter, nat, filter again: a client meets the listener or the REJECT, never nothing.
  void the_first_endpoint_is_served_before_its_rejection_goes() {
    const std::string reject =
        "KUBE-PORTALS-FIREWALL -m comment --comment \"ns1/svc1:p80 has no endpoints\" -p tcp -m tcp --dport 80 "
        "-d 172.30.0.41/32 -j REJECT\n";
    const std::string chains[] = {"KUBE-PORTALS-CONTAINER", "KUBE-PORTALS-HOST"};
    const auto redirects = [&](const std::string& how) {
      std::string text;
      for (const std::string& chain : chains) {
        text += how + chain + " -m comment --comment ns1/svc1:p80 -p tcp" + kTo + "40001\n";
      }
      return text;
    };
    ServiceSpec none = simple();
    none.endpoints.clear();
    for (const bool full : {false, true}) {
      PortalRig rig;
      const auto change = [&](const ServiceSpec& to) { full ? rig.full({to, another()}) : rig.delta({to}); };
      rig.full({none, another()});
      change(simple());
      CPPUNIT_ASSERT_EQUAL("*nat\n" + redirects("-A ") + "COMMIT\n*filter\n-D " + reject + "COMMIT\n", rig.sent());
      change(none);
      CPPUNIT_ASSERT_EQUAL("*filter\n-A " + reject + "COMMIT\n*nat\n" + redirects("-D ") + "COMMIT\n", rig.sent());
    }
  }

  void a_full_that_rewrites_the_firewall_has_no_gap() {
    PortalRig rig;
    std::vector<ServiceSpec> services = many_services(120, 1);
    const std::vector<EndpointSpec> endpoints = services[0].endpoints;
    const auto change = [&](bool first_have_endpoints) {
      for (std::size_t i = 0; i < services.size(); ++i) {
        services[i].endpoints = (i < 60) == first_have_endpoints ? endpoints : std::vector<EndpointSpec>();
      }
    };
    change(true);
    rig.full(services);
    change(false);
    std::size_t commits = 0;
    // The fake kernel applies COMMITs one by one.
    rig.kernel.after_commit = [&] {
      ++commits;
      for (const ServiceSpec& spec : services) {
        const Packet packet{"10.0.0.2", spec.cluster_ip, "tcp", 80, "cni0"};
        CPPUNIT_ASSERT(Tracer(rig.kernel.tables, rig.local).outcomes(packet) != "PASS");
      }
    };
    rig.full(services);
    CPPUNIT_ASSERT(commits >= 3);
    CPPUNIT_ASSERT_EQUAL(std::size_t{60}, rig.kernel.rules("filter", "KUBE-PORTALS-FIREWALL").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.full(services).lines);
  }

  void a_delta_needs_a_full_before() {
    PortalRig rig;
    CPPUNIT_ASSERT_THROW(rig.delta({simple()}), sdk::Failure);
    CPPUNIT_ASSERT(rig.writer->find_drift());
  }

  void every_change_by_delta_ends_where_a_full_would() {
    std::vector<ServiceSpec> shapes = {simple(), policy_local(true), policy_local(false), another()};
    shapes.push_back(policy_local(false));
    shapes.back().vips = {"1.2.3.4", "1.2.3.5"};
    shapes.back().source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};
    shapes.push_back(shapes.back());
    shapes.back().source_ranges = {"192.168.0.0/24", "203.0.113.0/25", "10.0.0.0/16"};
    shapes.push_back(simple());
    shapes.back().external_ips = {"192.168.99.11"};
    shapes.back().internal_local = true;
    shapes.back().health_check_node_port = 32000;
    for (std::size_t i = 0, end = shapes.size(); i < end; ++i) {
      shapes.push_back(shapes[i]);
      shapes.back().endpoints.clear();
    }
    for (const ServiceSpec& from : shapes) {
      for (ServiceSpec to : shapes) {
        to.name = from.name;
        to.cluster_ip = from.cluster_ip;
        PortalRig rig;
        rig.full({from});
        rig.delta({to});
        CPPUNIT_ASSERT(!rig.writer->find_drift());
        PortalRig fresh;
        CPPUNIT_ASSERT_EQUAL(fresh.full({to}).rules, rig.delta({to}).rules);
        CPPUNIT_ASSERT_EQUAL(fresh.kernel.text(), rig.kernel.text());
        rig.restart();
        CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.full({to}).lines);
      }
    }
  }

  void large_inputs_are_split_for_nf_tables_only() {
    PortalRig rig;
    rig.full(many_services(1500, 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.kernel.restores.size());
    rig.delta(many_services(1500, 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.kernel.restores.size());
    PortalRig old;
    old.kernel.use_legacy();
    old.full(many_services(1500, 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, old.kernel.restores.size());
    CPPUNIT_ASSERT_EQUAL(old.kernel.text(), rig.kernel.text());
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(PortalWriterTest);

}  // namespace portal_writer_test
}  // namespace sluice::test
