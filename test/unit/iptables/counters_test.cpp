// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Packet counters (nfacct): requests to the kernel, rules that use them, and metrics.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plugins/common/netfilter/accounting.hpp"
#include "test/unit/iptables/backend_rig.hpp"
#include "test/unit/iptables/plan_text.hpp"

namespace sluice::test {
namespace counters_test {

constexpr char kInvalidMetric[] = "kubeproxy_iptables_ct_state_invalid_dropped_packets_total{}";
constexpr char kLocalhostMetric[] = "kubeproxy_iptables_localhost_nodeports_accepted_packets_total{}";

class CountersTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CountersTest);
  CPPUNIT_TEST(requests_match_the_kernel_interface);
  CPPUNIT_TEST(rules_use_available_counters);
  CPPUNIT_TEST(rules_do_not_use_missing_counters);
  CPPUNIT_TEST(counting_rule_is_above_the_plain_one);
  CPPUNIT_TEST(only_loopback_node_ports_are_counted);
  CPPUNIT_TEST(counters_without_a_match_are_disabled);
  CPPUNIT_TEST(counters_are_reported_as_metrics);
  CPPUNIT_TEST(counters_stay_at_cleanup);
  CPPUNIT_TEST_SUITE_END();

  static ServiceSpec node_port() {
    ServiceSpec spec;
    spec.node_port = 30001;
    spec.endpoints = {e1()};
    return spec;
  }
  static std::string first_rule(const IptablesRig& rig) { return rig.kernel.rules("filter", "KUBE-FORWARD").at(0); }

  void requests_match_the_kernel_interface() {
    const auto bytes = [](const netfilter::Message& message) {
      std::vector<unsigned> made;
      for (const char byte : netfilter::bytes_of(message)) made.push_back(static_cast<unsigned char>(byte));
      std::fill(made.begin() + 8, made.begin() + 16, 0u);  // sequence number and port ID, which are set on sending
      return made;
    };
    // length; type: subsystem 7, message; flags; then the family, the version, and the name as attribute 1.
    const std::vector<unsigned> get = {28, 0, 0, 0, 1, 7, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                       0,  0, 0, 0, 7, 0, 1, 0, 'a', 'b', 0, 0};
    std::vector<unsigned> make = get;
    make[4] = 0;
    make[6] = 5;
    make[7] = 6;  // create, exclusive
    std::vector<unsigned> asked = bytes(netfilter::ask_for_counter("ab"));
    std::vector<unsigned> made = bytes(netfilter::make_counter("ab"));
    asked.resize(get.size());
    made.resize(make.size());
    CPPUNIT_ASSERT(get == asked);
    CPPUNIT_ASSERT(make == made);
  }

  void rules_use_available_counters() {
    IptablesRig rig;
    rig.kernel.counter_error = 0;
    ok(rig.full({node_port()}));
    CPPUNIT_ASSERT_EQUAL(
        std::string("-m conntrack --ctstate INVALID -m nfacct --nfacct-name ct_state_invalid_dropped_pkts -j DROP"),
        first_rule(rig));
    ok(rig.full({node_port()}));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
    rig.restart();
    ok(rig.full({node_port()}));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
    ok(rig.verify());
  }

  void rules_do_not_use_missing_counters() {
    IptablesRig rig;
    ok(rig.full({node_port()}));
    ok(rig.full({node_port()}));
    CPPUNIT_ASSERT_EQUAL(std::string("-m conntrack --ctstate INVALID -j DROP"), first_rule(rig));
    CPPUNIT_ASSERT(rig.kernel.text().find("nfacct") == std::string::npos);
    const auto lines = std::count_if(rig.host.lines.begin(), rig.host.lines.end(), [](const auto& line) {
      return line.second ==
             "the kernel has no counter localhost_nps_accepted_pkts (nfacct): Operation not supported; "
             "rules do not use it";
    });
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{1}, lines);
    CPPUNIT_ASSERT(!rig.host.metrics.contains(kInvalidMetric));
    // Counters that become available are used from the next full transaction on.
    rig.kernel.counter_error = 0;
    ok(rig.full({node_port()}));
    CPPUNIT_ASSERT(first_rule(rig).find("nfacct") != std::string::npos);
  }

  void counting_rule_is_above_the_plain_one() {
    IptablesRig rig;
    rig.kernel.counter_error = 0;
    ok(rig.full({}));
    ok(rig.delta({node_port()}));
    const auto& rules = rig.kernel.rules("nat", "KUBE-NODEPORTS");
    const FakeKernel::Rules expected = {
        "-m comment --comment ns1/svc1:p80 -m tcp -p tcp -d 127.0.0.0/8 --dport 30001 -m nfacct --nfacct-name "
        "localhost_nps_accepted_pkts -j KUBE-EXT-XPGD46QRK7WJZT7O",
        "-m comment --comment ns1/svc1:p80 -m tcp -p tcp --dport 30001 -j KUBE-EXT-XPGD46QRK7WJZT7O"};
    CPPUNIT_ASSERT(expected == rules);
    // Also if only the plain rule was lost.
    rig.kernel.tables["nat"]["KUBE-NODEPORTS"].pop_back();
    ok(rig.full({node_port()}));
    CPPUNIT_ASSERT(expected == rig.kernel.rules("nat", "KUBE-NODEPORTS"));
    rig.kernel.tables["nat"]["KUBE-NODEPORTS"].erase(rig.kernel.tables["nat"]["KUBE-NODEPORTS"].begin());
    ok(rig.full({node_port()}));
    CPPUNIT_ASSERT(expected == rig.kernel.rules("nat", "KUBE-NODEPORTS"));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.result.kernel_writes);
  }

  void only_loopback_node_ports_are_counted() {
    IptablesRig rig;
    rig.kernel.counter_error = 0;
    NodeSpec facts;
    facts.flags = abi::kNodePortsMatchAll;
    ok(rig.full({node_port()}, facts));
    CPPUNIT_ASSERT(rig.kernel.text().find("localhost_nps") == std::string::npos);
    IptablesRig ipv6(abi::Family::kIpv6);
    ipv6.kernel.counter_error = 0;
    ServiceSpec spec = many_services(1, 1, abi::Family::kIpv6)[0];
    spec.node_port = 30001;
    facts.flags |= abi::kNodePortsOnLocalhost;
    facts.ip = "fd00::2";
    facts.detector_cidr = "fd00::/16";
    ok(ipv6.full({spec}, facts));
    CPPUNIT_ASSERT(ipv6.kernel.text().find("localhost_nps") == std::string::npos);
    CPPUNIT_ASSERT(ipv6.kernel.text().find("ct_state_invalid_dropped_pkts") != std::string::npos);
  }

  void counters_without_a_match_are_disabled() {
    IptablesRig rig;
    rig.kernel.counter_error = 0;
    rig.kernel.refuse = {"-m nfacct"};
    rig.kernel.naming = FakeKernel::Naming::kCommit;
    ok(rig.full({node_port()}));
    CPPUNIT_ASSERT_EQUAL(std::string("-m conntrack --ctstate INVALID -j DROP"), first_rule(rig));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.host.not_programmed());
    CPPUNIT_ASSERT(!rig.kernel.has("filter", "SLUICE-PROBE"));
    const std::size_t writes = rig.kernel.restores.size();
    ok(rig.full({node_port()}));
    CPPUNIT_ASSERT(writes > 0 && rig.kernel.restores.empty());
    // A refusal for another reason does not disable them.
    IptablesRig other;
    other.kernel.counter_error = 0;
    other.kernel.refuse = {"-A KUBE-MARK-MASQ"};
    CPPUNIT_ASSERT(other.full({node_port()}) == abi::Code::kKernel);
    other.kernel.refuse.clear();
    ok(other.full({node_port()}));
    CPPUNIT_ASSERT(first_rule(other).find("nfacct") != std::string::npos);
  }

  void counters_are_reported_as_metrics() {
    IptablesRig rig;
    rig.kernel.counter_error = 0;
    rig.kernel.counters["ct_state_invalid_dropped_pkts"] = 5;  // from before a restart
    ok(rig.full({}));
    CPPUNIT_ASSERT_EQUAL(5.0, rig.host.metrics.at(kInvalidMetric));
    rig.kernel.counters["ct_state_invalid_dropped_pkts"] = 7;
    rig.kernel.counters["localhost_nps_accepted_pkts"] = 2;
    ok(rig.delta({node_port()}));
    CPPUNIT_ASSERT_EQUAL(5.0, rig.host.metrics.at(kInvalidMetric));  // deltas do not report them
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(7.0, rig.host.metrics.at(kInvalidMetric));
    CPPUNIT_ASSERT_EQUAL(2.0, rig.host.metrics.at(kLocalhostMetric));
  }

  void counters_stay_at_cleanup() {
    IptablesRig rig;
    rig.kernel.counter_error = 0;
    ok(rig.full({node_port()}));
    ok(rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.kernel.counters.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CountersTest);

}  // namespace counters_test
}  // namespace sluice::test
