// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Steps of `sluicectl explain` from the rules of the kernel.
#include "plugins/iptables/explanation.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "plugins/iptables/names.hpp"
#include "sluice/sdk/address.hpp"
#include "test/unit/iptables/inspection_rig.hpp"
#include "test/unit/iptables/plan_text.hpp"

namespace sluice::test {
namespace explanation_test {

constexpr abi::Family kV4 = abi::Family::kIpv4;

// What a step says, and what the whole explanation says in the words of the tracer.
struct Explained {
  Lines steps;
  std::string outcome;
  const std::string& last() const { return steps.back(); }
};

class ExplanationTest : public CppUnit::TestFixture, private EveryKindOfRule {
  CPPUNIT_TEST_SUITE(ExplanationTest);
  CPPUNIT_TEST(all_packets_fare_as_the_rules_say);
  CPPUNIT_TEST(a_cluster_ip_is_explained);
  CPPUNIT_TEST(a_node_port_is_explained);
  CPPUNIT_TEST(source_ranges_are_explained);
  CPPUNIT_TEST(refusals_are_explained);
  CPPUNIT_TEST(policy_local_is_explained);
  CPPUNIT_TEST(affinity_is_explained);
  CPPUNIT_TEST(hairpin_traffic_is_masqueraded);
  CPPUNIT_TEST(other_destinations_are_not_proxied);
  CPPUNIT_TEST(missing_objects_are_named);
  CPPUNIT_TEST(other_software_is_followed);
  CPPUNIT_TEST(counters_are_shown);
  CPPUNIT_TEST(ipv6_is_explained);
  CPPUNIT_TEST(explanation_only_reads);
  CPPUNIT_TEST_SUITE_END();

  struct From {
    std::string client;
    std::uint32_t flags = 0;
  };
  const From outside_{"203.0.113.2"};
  const From pod_{"10.0.0.2", abi::kPacketOfPod};
  const From node_{"192.168.0.2", abi::kPacketOfNode};

  static IptablesRig& prepared(IptablesRig& rig) {
    for (const char* const one : {"192.168.0.2", "192.168.1.2", "127.0.0.1"}) {
      rig.kernel.addresses.insert(*sdk::parse_address(one, kV4));
    }
    ok(rig, rig.full(all_kinds()));
    return rig;
  }

  static Explained explain(IptablesRig& rig, const From& from, const std::string& to, int port,
                           abi::Protocol protocol = abi::Protocol::kTcp, abi::Family family = kV4) {
    abi::InspectedPacket packet{};
    packet.struct_size = sizeof(packet);
    packet.flags = from.flags;
    packet.client = *sdk::parse_address(from.client, family);
    packet.address = *sdk::parse_address(to, family);
    packet.port = static_cast<std::uint16_t>(port);
    packet.protocol = protocol;
    Explained explained;
    std::size_t verdicts = 0;
    const auto print = [&](const abi::InspectedStep& step) {
      static constexpr const char* kVerdicts[] = {"", "served", "REJ", "DROP", "PASS"};
      std::string line = std::string(sdk::text(step.object)) + ": " + std::string(sdk::text(step.effect));
      std::set<std::string> targets;
      for (const auto& one : sdk::range<abi::InspectedTarget>(step.targets)) {
        const std::string remarks(sdk::text(one.remarks));
        if (one.object.size != 0) {
          line.append(" ").append(sdk::text(one.object)).append("[" + remarks + "]");
          continue;
        }
        const std::string target = sdk::host_port(one.address, family, one.port);
        const bool itself = remarks.find("client is this endpoint") != remarks.npos;
        targets.insert(target + ((step.flags & abi::kStepMasquerades) != 0 || itself ? "*" : ""));
        line += " " + target + (remarks.empty() ? "" : "[" + remarks + "]");
      }
      if (step.remarks.size != 0) line.append(" (").append(sdk::text(step.remarks)).append(")");
      if ((step.flags & abi::kStepMasquerades) != 0) line += " masquerades";
      if ((step.flags & abi::kStepCounted) != 0 && step.packets != 0) {
        line += " " + std::to_string(step.packets) + "/" + std::to_string(step.bytes);
      }
      const auto verdict = static_cast<std::size_t>(step.verdict);
      if (verdict == 0) return line;
      ++verdicts;
      explained.outcome = kVerdicts[verdict];
      if (verdict == 1) {
        explained.outcome.clear();
        for (const std::string& one : targets) explained.outcome += (explained.outcome.empty() ? "" : " ") + one;
      }
      return line + " " + kVerdicts[verdict];
    };
    explained.steps =
        inspect_rows<abi::InspectedStep>(rig, abi::InspectionKind::kInspectExplanation, print, {}, &packet);
    ok(rig, rig.inspected);
    CPPUNIT_ASSERT_EQUAL_MESSAGE(text(explained.steps), std::size_t{1}, verdicts);
    return explained;
  }
  static std::string svc(std::size_t index, std::size_t chain = 0) {
    return iptables::name(plan(all_kinds()[index]).chains[chain]);
  }
  static void expect_last(const std::string& expected, const Explained& explained) {
    CPPUNIT_ASSERT_EQUAL_MESSAGE(text(explained.steps), expected, explained.last());
  }

  // Compares with the tracer of the tests, which shares no code with the backend.
  void all_packets_fare_as_the_rules_say() {
    const struct {
      std::string address;
      int port;
    } kDestinations[] = {{"172.30.0.41", 80},  {"172.30.0.42", 80},    {"172.30.0.43", 80},    {"172.30.0.44", 80},
                         {"172.30.0.45", 80},  {"172.30.0.41", 81},    {"192.0.2.10", 80},     {"192.0.2.14", 80},
                         {"1.2.3.4", 80},      {"1.2.3.5", 80},        {"1.2.3.6", 80},        {"192.168.0.2", 30001},
                         {"192.168.1.2", 30002}, {"192.168.0.2", 30004}, {"192.168.9.9", 30001}, {"127.0.0.1", 30001},
                         {"192.168.0.2", 31002}, {"198.51.100.1", 443}};
    const From kClients[] = {outside_, {"203.0.113.130"}, pod_, node_, {"127.0.0.1", abi::kPacketOfNode},
                             {"10.180.0.1", abi::kPacketOfPod}};
    std::size_t served = 0;
    for (const bool by_interface : {false, true}) {
      IptablesRig rig;
      if (by_interface) {
        rig.node.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
        rig.node.detector_interface = "cni";
      }
      prepared(rig);
      for (const auto& to : kDestinations) {
        for (const From& from : kClients) {
          for (const abi::Protocol protocol : {abi::Protocol::kTcp, abi::Protocol::kUdp}) {
            const std::string interface =
                from.flags == 0 ? "eth0" : from.flags == abi::kPacketOfPod ? "cni0" : std::string();
            const bool tcp = protocol == abi::Protocol::kTcp;
            const Packet packet{from.client, to.address, tcp ? "tcp" : "udp", to.port, interface};
            const Explained explained = explain(rig, from, to.address, to.port, protocol);
            const std::string expected = rig.tracer().outcomes(packet);
            // The tracer does not deliver packets of a process to its own node.
            const bool loops = from.flags == abi::kPacketOfNode && to.port == 30004 && tcp;
            CPPUNIT_ASSERT_EQUAL_MESSAGE(from.client + " to " + to.address + ":" + std::to_string(to.port) + "\n" +
                                             text(explained.steps),
                                         loops ? std::string("REJ") : expected, explained.outcome);
            served += expected.find(':') != expected.npos;
          }
        }
      }
    }
    CPPUNIT_ASSERT(served > 50);
  }

  void a_cluster_ip_is_explained() {
    IptablesRig rig;
    prepared(rig);
    const std::string chain = svc(0, 2);
    const std::string match = "-m comment --comment \"ns1/svc1:p80 cluster IP\" -m tcp -p tcp -d 172.30.0.41 --dport 80 ";
    const std::string forward = "policy of filter FORWARD: accepts the packet 10.180.0.1:80 10.180.2.1:80";
    const Lines common{
        "nat -A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES: jumps to chain "
        "KUBE-SERVICES",
        "nat -A KUBE-SERVICES " + match + "-j " + chain + ": jumps to chain " + chain};
    const std::string chooses =
        "chain nat " + chain + ": chooses one of 2 endpoints at random 10.180.0.1:80 10.180.2.1:80";
    Lines pod = common;
    pod.insert(pod.end(), {chooses, forward + " served"});
    CPPUNIT_ASSERT_EQUAL(text(pod), text(explain(rig, pod_, "172.30.0.41", 80).steps));
    Lines other = common;
    other.insert(other.end(),
                 {"nat -A " + chain + " " + match + "! -s 10.0.0.0/8 -j KUBE-MARK-MASQ: marks the packet for "
                                                    "masquerading masquerades",
                  chooses,
                  "filter -A FORWARD -m comment --comment \"kubernetes forwarding rules\" -j KUBE-FORWARD: jumps to "
                  "chain KUBE-FORWARD",
                  "filter -A KUBE-FORWARD -m comment --comment \"kubernetes forwarding rules\" -m mark --mark "
                  "0x00004000/0x00004000 -j ACCEPT: accepts the packet",
                  "nat -A POSTROUTING -m comment --comment \"kubernetes postrouting rules\" -j KUBE-POSTROUTING: jumps "
                  "to chain KUBE-POSTROUTING",
                  "nat -A KUBE-POSTROUTING -m comment --comment \"kubernetes service traffic requiring SNAT\" -j "
                  "MASQUERADE --random-fully: replaces the source address by one of this node 10.180.0.1:80 "
                  "10.180.2.1:80 masquerades served"});
    CPPUNIT_ASSERT_EQUAL(text(other), text(explain(rig, outside_, "172.30.0.41", 80).steps));
  }

  void a_node_port_is_explained() {
    IptablesRig rig;
    prepared(rig);
    const Explained served = explain(rig, outside_, "192.168.0.2", 30001);
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80* 10.180.2.1:80*"), served.outcome);
    CPPUNIT_ASSERT_EQUAL(std::string("nat -A KUBE-SERVICES -m comment --comment \"kubernetes service nodeports; NOTE: "
                                     "this must be the last rule in this chain\" -m addrtype --dst-type LOCAL -j "
                                     "KUBE-NODEPORTS: jumps to chain KUBE-NODEPORTS"),
                         served.steps.at(1));
    expect_last("nat KUBE-SERVICES: no rule translates the destination 192.168.9.9:30001/tcp PASS",
                explain(rig, outside_, "192.168.9.9", 30001));
  }

  void source_ranges_are_explained() {
    IptablesRig rig;
    prepared(rig);
    const Explained refused = explain(rig, {"203.0.113.130"}, "1.2.3.4", 80);
    CPPUNIT_ASSERT_EQUAL("chain nat " + svc(0) + ": accepts no source range that contains 203.0.113.130",
                         refused.steps.at(2));
    expect_last("filter -A KUBE-PROXY-FIREWALL -m comment --comment \"ns1/svc1:p80 traffic not accepted by " + svc(0) +
                    "\" -m tcp -p tcp -d 1.2.3.4 --dport 80 -j DROP: drops the packet DROP",
                refused);
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80* 10.180.2.1:80*"), explain(rig, outside_, "1.2.3.4", 80).outcome);
  }

  void refusals_are_explained() {
    IptablesRig rig;
    prepared(rig);
    expect_last("filter -A KUBE-SERVICES -m comment --comment \"ns1/svc4:p80 has no endpoints\" -m tcp -p tcp -d "
                "172.30.0.44 --dport 80 -j REJECT: rejects the packet REJ",
                explain(rig, pod_, "172.30.0.44", 80));
    expect_last("filter -A KUBE-SERVICES -m comment --comment \"ns1/svc5:p80 has no local endpoints\" -m tcp -p tcp -d "
                "172.30.0.45 --dport 80 -j DROP: drops the packet DROP",
                explain(rig, node_, "172.30.0.45", 80));
  }

  void policy_local_is_explained() {
    IptablesRig rig;
    prepared(rig);
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80"), explain(rig, outside_, "192.168.0.2", 30002).outcome);
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80* 10.180.2.1:80*"),
                         explain(rig, node_, "192.168.0.2", 30002).outcome);
    const Explained dropped = explain(rig, outside_, "1.2.3.6", 80);
    const std::string external = svc(4, 1);
    CPPUNIT_ASSERT_MESSAGE(text(dropped.steps),
                           std::find(dropped.steps.begin(), dropped.steps.end(),
                                     "chain nat " + external + ": sends this packet to no endpoint") !=
                               dropped.steps.end());
    CPPUNIT_ASSERT_EQUAL(std::string("DROP"), dropped.outcome);
  }

  void affinity_is_explained() {
    IptablesRig rig;
    prepared(rig);
    const std::string chain = svc(1, 1);
    const auto chosen = [&] { return explain(rig, pod_, "172.30.0.42", 80).steps.at(2); };
    CPPUNIT_ASSERT_EQUAL("chain nat " + chain +
                             ": chooses one of 2 endpoints at random, and again the same for 60 s 10.180.0.1:80 "
                             "10.180.2.1:80",
                         chosen());
    const std::string endpoint = chain_with(rig, "KUBE-SEP-", "--set -m tcp -p tcp -j DNAT --to-destination 10.180.2.1");
    rig.recent.lists[endpoint] = {{*sdk::parse_address("10.0.0.2", kV4), std::chrono::seconds(60)}};
    CPPUNIT_ASSERT_EQUAL("chain nat " + chain + ": chooses one of 2 endpoints at random, and again the same for 60 s 10.180.0.1:80 "
                             "10.180.2.1:80[this client is bound to it]",
                         chosen());
    rig.recent.lists[endpoint] = {{*sdk::parse_address("10.0.0.2", kV4), std::chrono::seconds(61)},
                                  {*sdk::parse_address("10.0.0.3", kV4), std::chrono::seconds(1)}};
    CPPUNIT_ASSERT(chosen().find("bound") == std::string::npos);
  }

  void hairpin_traffic_is_masqueraded() {
    IptablesRig rig;
    prepared(rig);
    const Explained mixed = explain(rig, {"10.180.0.1", abi::kPacketOfPod}, "172.30.0.41", 80);
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80* 10.180.2.1:80"), mixed.outcome);
    const Explained only = explain(rig, {"10.180.0.1", abi::kPacketOfPod}, "172.30.0.43", 80, abi::Protocol::kUdp);
    CPPUNIT_ASSERT_MESSAGE(text(only.steps), only.last().ends_with(" masquerades served"));
    CPPUNIT_ASSERT_EQUAL("chain nat " + svc(2) +
                             ": sends the packet to the only endpoint 10.180.0.1:80[masqueraded, because the client is "
                             "this endpoint]",
                         only.steps.at(2));
  }

  void other_destinations_are_not_proxied() {
    IptablesRig rig;
    prepared(rig);
    CPPUNIT_ASSERT_EQUAL(
        text({"nat KUBE-SERVICES: no rule translates the destination 198.51.100.1:443/tcp PASS"}),
        text(explain(rig, pod_, "198.51.100.1", 443).steps));
    rig.kernel.dropping = {"filter FORWARD"};
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), explain(rig, pod_, "198.51.100.1", 443).outcome);
    expect_last("policy of filter FORWARD: drops the packet DROP", explain(rig, pod_, "172.30.0.41", 80));
  }

  void missing_objects_are_named() {
    IptablesRig rig;
    prepared(rig);
    const auto reset = [&] { ok(rig, rig.full(all_kinds())); };
    const auto explained = [&] { return explain(rig, outside_, "172.30.0.41", 80); };
    const std::string chain = svc(0, 2);
    erase_rules(rig.kernel, "nat", "KUBE-SERVICES", "172.30.0.41");
    expect_last("nat KUBE-SERVICES: no rule translates the destination 172.30.0.41:80/tcp (the rule \"-m comment "
                "--comment \"ns1/svc1:p80 cluster IP\" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j " +
                    chain + "\" of nat KUBE-SERVICES is missing) PASS",
                explained());
    reset();
    erase_rules(rig.kernel, "nat", "PREROUTING", "KUBE-SERVICES");
    expect_last("nat PREROUTING: no rule leads to chain KUBE-SERVICES (the rule \"-m comment --comment \"kubernetes "
                "service portals\" -j KUBE-SERVICES\" of nat PREROUTING is missing) PASS",
                explained());
    reset();
    auto& nat = rig.kernel.tables.at("nat");
    nat[chain].clear();
    CPPUNIT_ASSERT_EQUAL("chain nat " + chain + ": sends this packet to no endpoint (chain is empty)",
                         explained().steps.at(2));
    nat.erase(chain);
    CPPUNIT_ASSERT_EQUAL("chain nat " + chain + ": sends this packet to no endpoint (chain is missing)",
                         explained().steps.at(2));
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), explained().outcome);
    reset();
    const std::string endpoint = chain_with(rig, "KUBE-SEP-", "DNAT --to-destination 10.180.0.1:80");
    const std::string used = nat[chain][1].find(endpoint) != std::string::npos ? endpoint : nat[chain][1].substr(nat[chain][1].rfind(' ') + 1);
    nat[used].clear();
    const Explained half = explained();
    CPPUNIT_ASSERT_MESSAGE(text(half.steps),
                           half.steps.at(3).find(": chooses one of 2 endpoints at random " + used + "[chain is empty] ") !=
                               std::string::npos);
    erase_rules(rig.kernel, "nat", chain, "KUBE-SEP-");
    CPPUNIT_ASSERT(explained().steps.at(3).ends_with(": sends this packet to no endpoint"));
    reset();
    nat["KUBE-MARK-MASQ"].clear();
    CPPUNIT_ASSERT(explained().steps.at(2).ends_with(
        ": marks the packet for masquerading (KUBE-MARK-MASQ marks no packets)"));
    reset();
    nat["KUBE-POSTROUTING"].clear();
    CPPUNIT_ASSERT(explained().last().ends_with("(nat POSTROUTING does not masquerade the marked packet) served"));
    reset();
    erase_rules(rig.kernel, "filter", "FORWARD", "KUBE-SERVICES");
    CPPUNIT_ASSERT(explain(rig, pod_, "172.30.0.44", 80).last().find(" of filter FORWARD is missing) PASS") !=
                   std::string::npos);
  }

  void other_software_is_followed() {
    IptablesRig rig;
    prepared(rig);
    const auto explained = [&] { return explain(rig, outside_, "172.30.0.41", 80); };
    rig.kernel.foreign(
        "*nat\n:FOREIGN - [0:0]\n-A FOREIGN -m set --match-set x dst -j ACCEPT\n-A FOREIGN -o eth1 -j ACCEPT\n"
        "-A FOREIGN -p udp -j ACCEPT\n-I PREROUTING -j FOREIGN\nCOMMIT\n");
    CPPUNIT_ASSERT_EQUAL(
        text({"nat -A PREROUTING -j FOREIGN: jumps to chain FOREIGN",
              "nat PREROUTING: 2 rules have conditions or targets that cannot be evaluated here; assumed not to apply, "
              "first: nat -A FOREIGN -m set --match-set x dst -j ACCEPT"}),
        text({explained().steps.at(0), explained().steps.at(1)}));
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80* 10.180.2.1:80*"), explained().outcome);
    rig.kernel.foreign("*filter\n-I FORWARD -s 203.0.113.0/24 -j DROP\nCOMMIT\n");
    expect_last("filter -A FORWARD -s 203.0.113.0/24 -j DROP: drops the packet DROP", explained());
    rig.kernel.foreign("*nat\n-A FOREIGN -d 172.30.0.41 -j DNAT --to-destination 10.9.9.9:80\nCOMMIT\n");
    expect_last("nat -A FOREIGN -d 172.30.0.41 -j DNAT --to-destination 10.9.9.9:80: translates the destination to "
                "10.9.9.9:80 PASS",
                explained());
    rig.kernel.tables["nat"]["FOREIGN"] = {"-j ACCEPT"};
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), explain(rig, pod_, "172.30.0.41", 80).outcome);
  }

  void counters_are_shown() {
    IptablesRig rig;
    prepared(rig);
    rig.kernel.packets[{"nat KUBE-SERVICES", "172.30.0.41"}] = 7;
    const Explained explained = explain(rig, pod_, "172.30.0.41", 80);
    CPPUNIT_ASSERT_MESSAGE(explained.steps.at(1), explained.steps.at(1).ends_with(" 7/420"));
  }

  void ipv6_is_explained() {
    IptablesRig rig(abi::Family::kIpv6);
    NodeSpec node;
    node.ip = "fd00::2";
    node.detector_cidr = "fd00:10::/64";
    const auto services = many_services(1, 2, abi::Family::kIpv6);
    ok(rig, rig.full(services, node));
    const Explained explained = explain(rig, {"fd00:10::9", abi::kPacketOfPod}, services[0].cluster_ip,
                                        services[0].port, abi::Protocol::kTcp, abi::Family::kIpv6);
    CPPUNIT_ASSERT_MESSAGE(text(explained.steps), explained.outcome.starts_with("["));
  }

  void explanation_only_reads() {
    IptablesRig rig;
    abi::InspectedPacket packet{};
    packet.struct_size = sizeof(packet);
    const auto rows = [&] {
      return inspect_rows<abi::InspectedStep>(
          rig, abi::InspectionKind::kInspectExplanation, [](const abi::InspectedStep&) { return std::string("x"); }, {},
          &packet);
    };
    CPPUNIT_ASSERT(rows().empty());
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
    prepared(rig);
    ok(rig, rig.verify());
    const std::size_t saves = rig.kernel.saves;
    const std::size_t restores = rig.kernel.restores.size();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rows().size());
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(saves + 1, rig.kernel.saves);
    CPPUNIT_ASSERT_EQUAL(restores, rig.kernel.restores.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ExplanationTest);

}  // namespace explanation_test
}  // namespace sluice::test
