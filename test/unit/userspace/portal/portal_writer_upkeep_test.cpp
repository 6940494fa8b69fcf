// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Portals after an earlier process, a refused rule, drift, and at the end.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <map>
#include <string>
#include <vector>

#include "plugins/common/netfilter/relay_mark.hpp"
#include "plugins/userspace/cleanup.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/userspace/portal/portal_rig.hpp"

namespace sluice::test {
namespace portal_writer_upkeep_test {

using userspace::PortalId;

class PortalUpkeepTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PortalUpkeepTest);
  CPPUNIT_TEST(proxy_ports_are_read_from_rules);
  CPPUNIT_TEST(the_first_of_two_ports_counts);
  CPPUNIT_TEST(foreign_rules_are_ignored);
  CPPUNIT_TEST(refused_service_ports_are_not_programmed);
  CPPUNIT_TEST(refused_service_ports_are_found_without_hints);
  CPPUNIT_TEST(service_ports_refused_in_a_delta_are_not_programmed);
  CPPUNIT_TEST(a_delta_after_a_foreign_change_is_repaired);
  CPPUNIT_TEST(a_held_lock_is_a_failure_and_requires_a_full);
  CPPUNIT_TEST(drift_is_described);
  CPPUNIT_TEST(jumps_of_an_earlier_version_are_replaced_at_once);
  CPPUNIT_TEST(rules_are_not_listed_without_changes);
  CPPUNIT_TEST(legacy_iptables_is_checked_with_pauses);
  CPPUNIT_TEST(removal_keeps_foreign_objects);
  CPPUNIT_TEST(removal_keeps_chains_the_new_backend_claims);
  CPPUNIT_TEST(removal_in_parts);
  CPPUNIT_TEST(drop_rules_come_after_redirects);
  CPPUNIT_TEST_SUITE_END();

  void proxy_ports_are_read_from_rules() {
    PortalRig rig;
    ServiceSpec udp = simple();
    udp.protocol = abi::Protocol::kUdp;
    udp.name = "dns";
    userspace::PortalFacts dnat = rig.facts;
    dnat.listen_address = abi::Address{{192, 168, 7, 7}};
    rig.writer->write_full(userspace::fixed_rules(rig.facts),
                           {portal(policy_local(true), rig.facts, {33000, 33001}), portal(udp, dnat, {33002, 0}),
                            portal(another(), rig.facts, {33003, 0})});
    rig.restart();
    const std::map<PortalId, userspace::ProxyPorts> wanted = {{{"ns1/svc1:p80", abi::Protocol::kTcp}, {33000, 33001}},
                                                              {{"ns1/dns:p80", abi::Protocol::kUdp}, {33002, 0}},
                                                              {{"ns1/svc2:p80", abi::Protocol::kTcp}, {33003, 0}}};
    CPPUNIT_ASSERT(wanted == rig.writer->read_proxy_ports());
    PortalRig six({}, abi::Family::kIpv4);
    six.kernel.foreign(
        "*nat\n:KUBE-PORTALS-HOST - [0:0]\n-A KUBE-PORTALS-HOST -d fd00::1/128 -p tcp -m comment --comment a/b -m tcp "
        "--dport 80 -j DNAT --to-destination [fd00::2]:33004\nCOMMIT\n");
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{33004}, six.writer->read_proxy_ports().at({"a/b", abi::Protocol::kTcp}).cluster);
    CPPUNIT_ASSERT(PortalRig().writer->read_proxy_ports().empty());
  }

  void the_first_of_two_ports_counts() {
    PortalRig rig;
    rig.kernel.foreign(
        "*nat\n:KUBE-PORTALS-HOST - [0:0]\n"
        "-A KUBE-PORTALS-HOST -m comment --comment a/b -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 33000\n"
        "-A KUBE-PORTALS-HOST -m comment --comment a/b -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 33001\n"
        "-A KUBE-PORTALS-HOST -m comment --comment \"a/b local\" -p tcp -m tcp --dport 80 -j REDIRECT --to-ports "
        "33002\n"
        "COMMIT\n");
    const auto found = rig.writer->read_proxy_ports();
    CPPUNIT_ASSERT(found.at({"a/b", abi::Protocol::kTcp}) == (userspace::ProxyPorts{33000, 33002}));
  }

  void foreign_rules_are_ignored() {
    PortalRig rig;
    rig.kernel.foreign(
        "*nat\n:KUBE-PORTALS-HOST - [0:0]\n:FOREIGN - [0:0]\n"
        "-A KUBE-PORTALS-HOST -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 33000\n"
        "-A KUBE-PORTALS-HOST -m comment --comment a/b -p sctp --dport 80 -j REDIRECT --to-ports 33000\n"
        "-A KUBE-PORTALS-HOST -m comment --comment a/c -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 99999\n"
        "-A KUBE-PORTALS-HOST -m comment --comment a/d -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 8-9\n"
        "-A KUBE-PORTALS-HOST -m comment --comment a/e -j RETURN\n"
        "-A FOREIGN -m comment --comment a/f -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 33000\n"
        "COMMIT\n");
    CPPUNIT_ASSERT(rig.writer->read_proxy_ports().empty());
  }

  void refused_service_ports_are_not_programmed() {
    for (const auto naming : {FakeKernel::Naming::kLine, FakeKernel::Naming::kCommit, FakeKernel::Naming::kNone}) {
      PortalRig rig;
      std::vector<ServiceSpec> services = many_services(9, 1);
      for (ServiceSpec& service : services) service.node_port = static_cast<std::uint16_t>(30000 + services.size());
      rig.full(services);
      rig.kernel.naming = naming;
      rig.kernel.refuse = {"-A KUBE-PORTALS-HOST -m comment --comment bench/svc-4:p80"};
      services[4].cluster_ip = "172.30.9.9";
      const auto written = rig.full(services);
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, written.refused.size());
      CPPUNIT_ASSERT_EQUAL(std::string("bench/svc-4:p80"), written.refused.begin()->first);
      CPPUNIT_ASSERT(rig.kernel.text().find("svc-4") == std::string::npos);
      CPPUNIT_ASSERT_EQUAL(std::size_t{8}, rig.kernel.rules("nat", "KUBE-PORTALS-HOST").size());
      rig.kernel.refuse.clear();
      CPPUNIT_ASSERT(!rig.writer->find_drift());
      CPPUNIT_ASSERT(rig.full(services).refused.empty());
      CPPUNIT_ASSERT_EQUAL(std::size_t{9}, rig.kernel.rules("nat", "KUBE-PORTALS-HOST").size());
    }
  }

  // Legacy iptables does not report how many COMMITs were applied.
  void refused_service_ports_are_found_without_hints() {
    PortalRig rig;
    rig.kernel.use_legacy();
    rig.kernel.naming = FakeKernel::Naming::kNone;
    rig.kernel.refuse = {"-A KUBE-NODEPORT-HOST -m comment --comment ns1/svc2:p80"};
    rig.kernel.refusal_status = 2;
    const auto written = rig.full({policy_local(true), another()});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, written.refused.count("ns1/svc2:p80"));
    PortalRig fresh;
    fresh.full({policy_local(true)});
    CPPUNIT_ASSERT_EQUAL(fresh.kernel.text(), rig.kernel.text());
  }

  void service_ports_refused_in_a_delta_are_not_programmed() {
    PortalRig rig;
    rig.full({simple()});
    rig.kernel.refuse = {"-A KUBE-NODEPORT-HOST -m comment --comment ns1/svc2:p80"};
    ServiceSpec third = another();
    third.name = "svc3";
    third.cluster_ip = "172.30.0.43";
    third.node_port = 30003;
    const auto written = rig.delta({another(), third});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, written.refused.count("ns1/svc2:p80"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, written.refused.size());
    CPPUNIT_ASSERT(rig.kernel.text().find("svc2") == std::string::npos);
    PortalRig fresh;
    fresh.full({simple(), third});
    CPPUNIT_ASSERT_EQUAL(fresh.kernel.text(), rig.kernel.text());
    CPPUNIT_ASSERT(!rig.writer->find_drift());
  }

  void a_delta_after_a_foreign_change_is_repaired() {
    PortalRig rig;
    rig.full({simple(), another()});
    rig.kernel.foreign("*nat\n-F KUBE-PORTALS-HOST\n-F PREROUTING\nCOMMIT\n");
    const auto written = rig.delta({}, {{"ns1/svc1:p80", abi::Protocol::kTcp}});
    CPPUNIT_ASSERT(written.refused.empty());
    PortalRig fresh;
    fresh.full({another()});
    CPPUNIT_ASSERT_EQUAL(fresh.kernel.text(), rig.kernel.text());
  }

  void a_held_lock_is_a_failure_and_requires_a_full() {
    PortalRig rig;
    rig.full({simple()});
    rig.kernel.fail_next = 4;
    try {
      rig.delta({another()});
      CPPUNIT_FAIL("a held lock was ignored");
    } catch (const sdk::Failure& failure) {
      CPPUNIT_ASSERT(failure.code() == abi::Code::kRetry);
    }
    CPPUNIT_ASSERT_THROW(rig.delta({another()}), sdk::Failure);
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, rig.full({simple(), another()}).lines);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.delta({another()}).lines);
  }

  void drift_is_described() {
    const auto drift = [](const std::string& input) {
      PortalRig rig;
      rig.full({simple(), another()});
      rig.kernel.foreign(input);
      const auto found = rig.writer->find_drift();
      rig.full({simple(), another()});
      CPPUNIT_ASSERT(!rig.writer->find_drift());
      PortalRig fresh;
      fresh.full({simple(), another()});
      CPPUNIT_ASSERT_EQUAL(fresh.kernel.text(), rig.kernel.text());
      return found.value_or("none");
    };
    CPPUNIT_ASSERT_EQUAL(std::string("none"), drift("*nat\n:FOREIGN - [0:0]\n-X FOREIGN\nCOMMIT\n"));
    CPPUNIT_ASSERT_EQUAL(std::string("the rule \"-m comment --comment \"handle ClusterIPs; NOTE: this must be before "
                                     "the NodePort rules\" -j KUBE-PORTALS-CONTAINER\" in nat PREROUTING is gone; the "
                                     "rule \"-m addrtype --dst-type LOCAL -m comment --comment \"handle service "
                                     "NodePorts; NOTE: this must be the last rule in the chain\" -j "
                                     "KUBE-NODEPORT-CONTAINER\" in nat PREROUTING is gone"),
                         drift("*nat\n-F PREROUTING\nCOMMIT\n"));
    CPPUNIT_ASSERT_EQUAL(std::string("the rule \"-m comment --comment ns1/svc2:p80 -p tcp -m tcp --dport 30002 -j "
                                     "REDIRECT --to-ports 40001\" in nat KUBE-NODEPORT-HOST is gone"),
                         drift("*nat\n-F KUBE-NODEPORT-HOST\nCOMMIT\n"));
    CPPUNIT_ASSERT_EQUAL(std::string("the rule \"-j RETURN\" in nat KUBE-PORTALS-HOST is not ours"),
                         drift("*nat\n-I KUBE-PORTALS-HOST -j RETURN\nCOMMIT\n"));
    const std::string many = drift("*filter\n-F FORWARD\n-F OUTPUT\n-F INPUT\n-X KUBE-PORTALS-FIREWALL\nCOMMIT\n");
    CPPUNIT_ASSERT(many.ends_with("in filter FORWARD is gone; and 2 more"));
  }

  // Also jumps of kube-proxy, which do not match marks.
  void jumps_of_an_earlier_version_are_replaced_at_once() {
    PortalRig rig;
    rig.full({another()});
    const std::string wanted = rig.kernel.text();
    const std::string match = netfilter::not_relayed_match(rig.facts.relay_mark) + " ";
    std::size_t earlier = 0;
    for (const char* const table : {"nat", "filter"}) {
      for (std::string& rule : rig.kernel.tables[table]["OUTPUT"]) {
        const std::size_t at = rule.find(match);
        CPPUNIT_ASSERT_MESSAGE(rule, at != std::string::npos);
        rule.erase(at, match.size());
        ++earlier;
      }
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, earlier);
    rig.restart();
    CPPUNIT_ASSERT_EQUAL(2 * earlier, rig.full({another()}).lines);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    CPPUNIT_ASSERT_EQUAL(wanted, rig.kernel.text());
  }

  void rules_are_not_listed_without_changes() {
    PortalRig rig;
    rig.step = 1000000;
    rig.full({simple()});
    rig.delta({another()});
    const std::size_t looks = rig.kernel.saves;
    for (int i = 0; i < 3; ++i) CPPUNIT_ASSERT(!rig.writer->find_drift());
    CPPUNIT_ASSERT_EQUAL(looks, rig.kernel.saves);
    rig.kernel.foreign("*nat\n:FOREIGN - [0:0]\nCOMMIT\n");
    for (int i = 0; i < 3; ++i) CPPUNIT_ASSERT(!rig.writer->find_drift());
    CPPUNIT_ASSERT_EQUAL(looks + 1, rig.kernel.saves);
  }

  void legacy_iptables_is_checked_with_pauses() {
    PortalRig rig;
    rig.kernel.use_legacy();
    rig.full({simple()});
    const std::size_t looks = rig.kernel.saves;
    rig.step = 1000;  // a check takes this long
    CPPUNIT_ASSERT(!rig.writer->find_drift());
    CPPUNIT_ASSERT(!rig.writer->find_drift());
    CPPUNIT_ASSERT_EQUAL(looks + 1, rig.kernel.saves);
    rig.clock += 20000;
    CPPUNIT_ASSERT(!rig.writer->find_drift());
    CPPUNIT_ASSERT_EQUAL(looks + 2, rig.kernel.saves);
  }

  void removal_keeps_foreign_objects() {
    PortalRig rig;
    rig.kernel.foreign("*nat\n:FOREIGN - [0:0]\n-A PREROUTING -j FOREIGN\nCOMMIT\n");
    const std::string before = rig.kernel.text();
    rig.full({another(), policy_local(false)});
    userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, {});
    CPPUNIT_ASSERT_EQUAL(before, rig.kernel.text());
    CPPUNIT_ASSERT(rig.writer->find_drift());
    userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, {});  // of nothing
    CPPUNIT_ASSERT_EQUAL(before, rig.kernel.text());
    // Jumps of an earlier process with other node facts; a chain with foreign references is only flushed.
    NodeSpec node;
    node.flags = 0;
    node.node_port_addresses = {"192.168.0.2", "192.168.1.2"};
    rig.facts = test::portal_facts(node);
    rig.full({another()});
    rig.kernel.foreign("*nat\n-A FOREIGN -j KUBE-PORTALS-HOST\n-A OUTPUT -p udp -j KUBE-NODEPORT-HOST\nCOMMIT\n");
    rig.restart();
    userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, {});
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "KUBE-PORTALS-HOST").empty());
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "KUBE-NODEPORT-HOST").empty());
    CPPUNIT_ASSERT(!rig.kernel.has("nat", "KUBE-NODEPORT-CONTAINER"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.rules("nat", "OUTPUT").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.rules("nat", "PREROUTING").size());
  }

  void removal_keeps_chains_the_new_backend_claims() {
    PortalRig rig;
    rig.full({simple(), another()});
    userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, {"iptables/nat/KUBE-PORTALS-*"});
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.kernel.rules("nat", "KUBE-PORTALS-HOST").size());
    CPPUNIT_ASSERT(!rig.kernel.has("nat", "KUBE-NODEPORT-HOST"));
    CPPUNIT_ASSERT(!rig.kernel.has("filter", "KUBE-PORTALS-FIREWALL"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.rules("nat", "PREROUTING").size());
    const std::string left = rig.kernel.text();
    userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, userspace::portal_claims(abi::Family::kIpv4));
    CPPUNIT_ASSERT_EQUAL(left, rig.kernel.text());
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, userspace::portal_claims(abi::Family::kIpv6).size());
    CPPUNIT_ASSERT_EQUAL(std::string("ip6tables/nat/KUBE-PORTALS-CONTAINER"),
                         userspace::portal_claims(abi::Family::kIpv6).front());
  }

  static ServiceSpec restricted() {
    ServiceSpec spec = another();
    spec.vips = {"203.0.113.8"};
    spec.source_ranges = {"198.51.100.0/24"};
    return spec;
  }

  void removal_in_parts() {
    using Part = userspace::PortalWriter::Part;
    PortalRig rig;
    const std::string before = rig.kernel.text();
    rig.full({restricted()});
    const auto firewall = [&]() -> const FakeKernel::Rules& {
      return rig.kernel.rules("filter", "KUBE-PORTALS-FIREWALL");
    };
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, firewall().size());  // two for the address, one for each of two proxy ports
    rig.kernel.restores.clear();
    userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, {}, Part::kDrops);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, firewall().size());
    for (const std::string& rule : firewall()) CPPUNIT_ASSERT(rule.find("! --ctstate DNAT") != std::string::npos);
    CPPUNIT_ASSERT(!rig.kernel.rules("nat", "KUBE-PORTALS-CONTAINER").empty());
    userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, {}, Part::kDrops);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, {}, Part::kRedirects);
    CPPUNIT_ASSERT(rig.kernel.tables.at("nat").count("KUBE-PORTALS-CONTAINER") == 0);
    CPPUNIT_ASSERT(rig.kernel.rules("nat", "PREROUTING").empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, firewall().size());
    CPPUNIT_ASSERT(!rig.kernel.rules("filter", "KUBE-NODEPORT-NON-LOCAL").empty());
    userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, {}, Part::kAll);
    CPPUNIT_ASSERT_EQUAL(before, rig.kernel.text());
    // Claimed chains do not change.
    rig.full({restricted()});
    const std::string written = rig.kernel.text();
    for (const Part part : {Part::kDrops, Part::kRedirects, Part::kAll}) {
      userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, userspace::portal_claims(abi::Family::kIpv4), part);
    }
    CPPUNIT_ASSERT_EQUAL(written, rig.kernel.text());
  }

  // Until rules redirect to the proxy, another backend may serve: its packets must not be dropped.
  void drop_rules_come_after_redirects() {
    PortalRig rig;
    rig.full({restricted()});
    const std::string sent = rig.sent();
    const std::size_t led = sent.find("-I PREROUTING");
    const std::size_t dropped = sent.find("is not for this source");
    CPPUNIT_ASSERT(led != std::string::npos && dropped != std::string::npos);
    CPPUNIT_ASSERT(led < dropped);
    // Also with chains that an earlier process left behind.
    userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, {}, userspace::PortalWriter::Part::kDrops);
    userspace::remove_unclaimed(*rig.writer, abi::Family::kIpv4, {}, userspace::PortalWriter::Part::kRedirects);
    rig.full({restricted()});
    CPPUNIT_ASSERT(rig.sent().find("-I PREROUTING") < rig.sent().find("is not for this source"));
    rig.restart();
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.full({restricted()}).lines);
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(PortalUpkeepTest);

}  // namespace portal_writer_upkeep_test
}  // namespace sluice::test
