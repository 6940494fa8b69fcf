// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/explanation.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "lib/text.hpp"
#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/service.hpp"
#include "test/unit/nftables/backend_rig.hpp"
#include "test/unit/nftables/random_services.hpp"
#include "test/unit/nftables/table_model.hpp"

namespace sluice::test {
namespace explanation_test {

using namespace nftables;

constexpr abi::Family kV4 = abi::Family::kIpv4;
constexpr const char* kOutside = "203.0.113.5";
constexpr const char* kPod = "10.1.2.3";
constexpr const char* kNode = "192.168.0.2";

std::string printed(const abi::InspectedStep& row) {
  constexpr const char* kVerdicts[] = {"", " SERVED", " REJECTED", " DROPPED", " NOT PROXIED"};
  std::string text = std::string(sdk::text(row.object)) + ": " + std::string(sdk::text(row.effect));
  const char* before = " -> ";
  for (const auto& one : sdk::range<abi::InspectedTarget>(row.targets)) {
    text += before + sdk::host_port(one.address, kV4, one.port);
    if (one.remarks.size != 0) text += " (" + std::string(sdk::text(one.remarks)) + ")";
    before = ", ";
  }
  if (row.remarks.size != 0) text += " (" + std::string(sdk::text(row.remarks)) + ")";
  if ((row.flags & abi::kStepMasquerades) != 0) text += " MASQUERADES";
  CPPUNIT_ASSERT((row.flags & abi::kStepCounted) == 0);
  return text + kVerdicts[static_cast<std::size_t>(row.verdict)] + "\n";
}

class NftablesExplanationTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesExplanationTest);
  CPPUNIT_TEST(a_cluster_ip_goes_to_one_of_its_endpoints);
  CPPUNIT_TEST(other_destinations_are_not_proxied);
  CPPUNIT_TEST(other_ports_of_a_cluster_ip_are_rejected);
  CPPUNIT_TEST(unallocated_cluster_ips_are_dropped);
  CPPUNIT_TEST(clients_outside_of_the_cluster_are_masqueraded);
  CPPUNIT_TEST(interfaces_distinguish_pods_from_other_clients);
  CPPUNIT_TEST(external_traffic_is_masqueraded);
  CPPUNIT_TEST(node_ports_are_served_on_their_addresses);
  CPPUNIT_TEST(without_endpoints_packets_are_rejected);
  CPPUNIT_TEST(external_policy_local_distinguishes_clients);
  CPPUNIT_TEST(internal_policy_local_uses_endpoints_on_this_node);
  CPPUNIT_TEST(source_ranges_are_checked_first);
  CPPUNIT_TEST(session_affinity_is_shown);
  CPPUNIT_TEST(a_pod_that_reaches_itself_is_masqueraded);
  CPPUNIT_TEST(missing_elements_change_the_verdict);
  CPPUNIT_TEST(missing_rules_and_chains_change_the_verdict);
  CPPUNIT_TEST(rules_of_others_are_remarked);
  CPPUNIT_TEST(packets_to_an_empty_slot_get_the_first_endpoint);
  CPPUNIT_TEST(random_services_are_explained_as_they_should_be_served);
  CPPUNIT_TEST(an_explanation_needs_an_apply_and_changes_nothing);
  CPPUNIT_TEST_SUITE_END();

  enum class From { kElsewhere, kNode, kPod };

  static std::string explain(NftablesRig& rig, const std::string& client, const std::string& address,
                             std::uint16_t port = 80, From from = From::kElsewhere,
                             abi::Protocol protocol = abi::Protocol::kTcp) {
    abi::InspectedPacket packet{};
    packet.struct_size = sizeof(packet);
    packet.client = *sdk::parse_address(client, kV4);
    packet.address = *sdk::parse_address(address, kV4);
    packet.port = port;
    packet.protocol = protocol;
    if (from == From::kNode) packet.flags = abi::kPacketOfNode;
    if (from == From::kPod) packet.flags = abi::kPacketOfPod;
    return lib::joined(rig.rows<abi::InspectedStep>(abi::InspectionKind::kInspectExplanation, printed, {}, &packet),
                       "");
  }

  static ServiceSpec example() {
    ServiceSpec service;
    service.endpoints = {{"10.180.2.1", 80, false}, {"10.180.0.1", 80, true}};
    return service;
  }
  static void apply(NftablesRig& rig, const std::vector<ServiceSpec>& services) {
    rig.table.node_addresses = {*sdk::parse_address(kNode, kV4)};
    ok(rig, rig.full(services));
  }
  static Key at(const std::string& ip) {
    return frontend_key(kV4, {false, *sdk::parse_address(ip, kV4), abi::Protocol::kTcp, 80});
  }
  static Key slot(const std::string& ip, std::uint32_t number) {
    return slot_key(kV4, {false, *sdk::parse_address(ip, kV4), abi::Protocol::kTcp, 80}, number);
  }

  void a_cluster_ip_goes_to_one_of_its_endpoints() {
    NftablesRig rig;
    apply(rig, {example()});
    CPPUNIT_ASSERT_EQUAL(
        std::string("element 172.30.0.41:80/tcp of service-treatments: goes to chain endpoints-2\n"
                    "chain endpoints-2: chooses one of 2 endpoints at random, goes to chain endpoint\n"
                    "chain endpoint: translates the destination to the endpoint in map endpoints -> 10.180.0.1:80, "
                    "10.180.2.1:80 SERVED\n"),
        explain(rig, kPod, "172.30.0.41", 80, From::kPod));
  }

  void other_destinations_are_not_proxied() {
    NftablesRig rig;
    apply(rig, {example()});
    for (const char* const address : {"192.0.2.1", kNode}) {
      CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy: does not handle this destination NOT PROXIED\n"),
                           explain(rig, kOutside, address));
    }
  }

  void other_ports_of_a_cluster_ip_are_rejected() {
    NftablesRig rig;
    apply(rig, {example()});
    for (const From from : {From::kPod, From::kNode}) {
      CPPUNIT_ASSERT_EQUAL(
          std::string("element 172.30.0.41 of cluster-ips: rejects the packet: no Service has this port of "
                      "the cluster IP REJECTED\n"),
          explain(rig, kPod, "172.30.0.41", 81, from));
    }
  }

  void unallocated_cluster_ips_are_dropped() {
    NftablesRig rig;
    rig.node.service_cidrs = {"172.29.0.0/16", "172.30.0.0/16"};
    apply(rig, {example()});
    CPPUNIT_ASSERT_EQUAL(
        std::string("rule 3 of chain cluster-ips-check: drops the packet: no Service has this address of "
                    "172.30.0.0/16 DROPPED\n"),
        explain(rig, kPod, "172.30.0.99"));
  }

  void clients_outside_of_the_cluster_are_masqueraded() {
    NftablesRig rig;
    apply(rig, {example()});
    const std::string outside = explain(rig, kOutside, "172.30.0.41");
    CPPUNIT_ASSERT_EQUAL(std::string("rule 1 of chain services: marks the packet for masquerading, as it is from "
                                     "outside of 10.0.0.0/8 MASQUERADES"),
                         outside.substr(0, outside.find('\n')));
    rig.node.flags |= abi::kMasqueradeAll;
    apply(rig, {example()});
    const std::string all = explain(rig, kPod, "172.30.0.41", 80, From::kPod);
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "rule 1 of chain services: marks the packet for masquerading, as all packets to cluster IPs MASQUERADES"),
        all.substr(0, all.find('\n')));
    rig.table.state.chains["nat-postrouting"].rules.clear();
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"),
                       "all packets to cluster IPs (rule 1 of chain nat-postrouting is missing)\n"));
  }

  void interfaces_distinguish_pods_from_other_clients() {
    NftablesRig rig;
    rig.node.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    rig.node.detector_interface = "cali";
    apply(rig, {example()});
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"), "as it did not arrive through interface cali* MASQUERADES"));
    CPPUNIT_ASSERT(!has(explain(rig, kPod, "172.30.0.41", 80, From::kPod), "MASQUERADES"));
  }

  void external_traffic_is_masqueraded() {
    NftablesRig rig;
    ServiceSpec service = example();
    service.external_ips = {"5.6.7.8"};
    apply(rig, {service});
    CPPUNIT_ASSERT(
        explain(rig, kOutside, "5.6.7.8")
            .starts_with("element 5.6.7.8:80/tcp of service-treatments: goes to chain external-2\n"
                         "chain external-2: marks the packet for masquerading, goes to chain endpoints-2 MASQUERADES\n"
                         "chain endpoints-2: "));
  }

  void node_ports_are_served_on_their_addresses() {
    ServiceSpec service = example();
    service.node_port = 30001;
    NftablesRig rig;
    apply(rig, {service});
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "element :30001/tcp of nodeport-treatments: goes to chain nodeport-external-2\n"
            "chain nodeport-external-2: marks the packet for masquerading, goes to chain nodeport-endpoints-2 "
            "MASQUERADES\n"
            "chain nodeport-endpoints-2: chooses one of 2 endpoints at random, goes to chain nodeport-endpoint\n"
            "chain nodeport-endpoint: translates the destination to the endpoint in map nodeport-endpoints -> "
            "10.180.0.1:80, 10.180.2.1:80 SERVED\n"),
        explain(rig, kOutside, kNode, 30001));
    for (const char* const elsewhere : {"192.168.0.3", "127.0.0.1"}) {
      CPPUNIT_ASSERT(
          has(explain(rig, kNode, elsewhere, 30001, From::kNode), "does not handle this destination NOT PROXIED"));
    }
    rig.node.flags = 0;
    rig.node.node_port_addresses = {"192.168.0.9"};
    apply(rig, {service});
    CPPUNIT_ASSERT(has(explain(rig, kOutside, kNode, 30001), "NOT PROXIED"));
    CPPUNIT_ASSERT(has(explain(rig, kOutside, "192.168.0.9", 30001), "SERVED"));
  }

  void without_endpoints_packets_are_rejected() {
    ServiceSpec service = example();
    service.node_port = 30001;
    service.endpoints.clear();
    NftablesRig rig;
    apply(rig, {service});
    const std::string rejects = ": rejects the packet: no endpoints REJECTED\n";
    for (const From from : {From::kPod, From::kNode}) {
      CPPUNIT_ASSERT_EQUAL("element 172.30.0.41:80/tcp of rejected-services" + rejects,
                           explain(rig, kPod, "172.30.0.41", 80, from));
      CPPUNIT_ASSERT_EQUAL("element :30001/tcp of rejected-nodeports" + rejects,
                           explain(rig, kPod, kNode, 30001, from));
    }
    CPPUNIT_ASSERT(has(explain(rig, kNode, "127.0.0.1", 30001, From::kNode), "NOT PROXIED"));
  }

  void external_policy_local_distinguishes_clients() {
    ServiceSpec service = example();
    service.external_ips = {"5.6.7.8"};
    service.external_local = true;
    NftablesRig rig;
    apply(rig, {service});
    const std::string step = "chain external-local-2-1: ";
    CPPUNIT_ASSERT(
        has(explain(rig, kOutside, "5.6.7.8"), step + "goes to chain local-endpoints-1, to endpoints on this node\n"));
    CPPUNIT_ASSERT(has(explain(rig, kPod, "5.6.7.8", 80, From::kPod),
                       step + "goes to chain endpoints-2, as the client is a pod of this node\n"));
    CPPUNIT_ASSERT(
        has(explain(rig, kNode, "5.6.7.8", 80, From::kNode),
            step + "marks the packet for masquerading, goes to chain endpoints-2, as the client is on this node "
                   "MASQUERADES\n"));
    CPPUNIT_ASSERT(has(explain(rig, kOutside, "5.6.7.8"), " -> 10.180.0.1:80 SERVED"));
    service.endpoints.pop_back();
    apply(rig, {service});
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "element 5.6.7.8:80/tcp of service-treatments: goes to chain external-local-1-0\n"
            "chain external-local-1-0: has no endpoint for this client\n"
            "element 5.6.7.8:80/tcp of dropped-services: drops the packet: no endpoints on this node DROPPED\n"),
        explain(rig, kOutside, "5.6.7.8"));
    CPPUNIT_ASSERT(has(explain(rig, kNode, "5.6.7.8", 80, From::kNode), "-> 10.180.2.1:80 SERVED"));
  }

  void internal_policy_local_uses_endpoints_on_this_node() {
    ServiceSpec service = example();
    service.internal_local = true;
    NftablesRig rig;
    apply(rig, {service});
    const std::string local = explain(rig, kPod, "172.30.0.41", 80, From::kPod);
    CPPUNIT_ASSERT(has(local, "chain local-endpoints-1: chooses the only endpoint, goes to chain local-endpoint\n"));
    CPPUNIT_ASSERT(has(local, " -> 10.180.0.1:80 SERVED"));
    service.endpoints.pop_back();
    apply(rig, {service});
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41", 80, From::kPod), "of dropped-services: drops the packet"));
  }

  void source_ranges_are_checked_first() {
    ServiceSpec service = example();
    service.vips = {"1.2.3.4"};
    service.source_ranges = {"198.51.100.0/24", "203.0.113.0/25"};
    NftablesRig rig;
    apply(rig, {service});
    const std::string allowed = explain(rig, kOutside, "1.2.3.4");
    const std::string chain = allowed.substr(allowed.find("firewall-", allowed.find("goes to")), 25);
    CPPUNIT_ASSERT_MESSAGE(
        allowed, allowed.starts_with("element 1.2.3.4:80/tcp of firewalled-services: goes to chain " + chain +
                                     "\nrule 2 of chain " + chain + ": allows clients in 203.0.113.0/25\nelement "));
    CPPUNIT_ASSERT(has(allowed, "SERVED"));
    const std::string dropped = "\nrule 3 of chain " + chain + ": drops clients outside of the source ranges DROPPED\n";
    CPPUNIT_ASSERT(explain(rig, "203.0.113.200", "1.2.3.4").ends_with(dropped));
    CPPUNIT_ASSERT(explain(rig, kNode, "1.2.3.4", 80, From::kNode).ends_with(dropped));
    CPPUNIT_ASSERT(has(explain(rig, "203.0.113.200", "172.30.0.41"), "SERVED"));
    rig.table.state.chains["filter-prerouting-pre-dnat"].rules.clear();
    CPPUNIT_ASSERT(
        has(explain(rig, "203.0.113.200", "1.2.3.4"), "(rule 1 of chain filter-prerouting-pre-dnat is missing)"));
    CPPUNIT_ASSERT(has(explain(rig, "203.0.113.200", "1.2.3.4"), "SERVED"));
    CPPUNIT_ASSERT(has(explain(rig, kNode, "1.2.3.4", 80, From::kNode), "DROPPED"));
  }

  void session_affinity_is_shown() {
    ServiceSpec service = example();
    service.affinity_seconds = 60;
    NftablesRig rig;
    apply(rig, {service});
    CPPUNIT_ASSERT_EQUAL(
        std::string("element 172.30.0.41:80/tcp of service-treatments: goes to chain sticky-60-endpoints-2\n"
                    "chain sticky-60-endpoints-2: sends a known client to its endpoint of the last 60 s, a new "
                    "client to one of 2 endpoints at random -> 10.180.0.1:80, 10.180.2.1:80 SERVED\n"),
        explain(rig, kPod, "172.30.0.41", 80, From::kPod));
    rig.table.state.elements[SetId::kAffinityServices].clear();
    CPPUNIT_ASSERT(explain(rig, kPod, "172.30.0.41", 80, From::kPod)
                       .ends_with("(element 172.30.0.41:80/tcp of affinity-services is missing) REJECTED\n"));
  }

  void a_pod_that_reaches_itself_is_masqueraded() {
    NftablesRig rig;
    apply(rig, {example()});
    CPPUNIT_ASSERT(has(explain(rig, "10.180.0.1", "172.30.0.41", 80, From::kPod),
                       " -> 10.180.0.1:80 (masqueraded, as it is the client itself), 10.180.2.1:80 SERVED"));
    rig.table.state.elements[SetId::kHairpin].clear();
    CPPUNIT_ASSERT(
        has(explain(rig, "10.180.0.1", "172.30.0.41", 80, From::kPod),
            " -> 10.180.0.1:80, 10.180.2.1:80 (element 10.180.0.1:80/tcp of hairpin-connections is missing) SERVED"));
  }

  void missing_elements_change_the_verdict() {
    NftablesRig rig;
    ServiceSpec empty = example();
    empty.name = "svc2";
    empty.cluster_ip = "172.30.0.42";
    empty.endpoints.clear();
    apply(rig, {example(), empty});
    auto& elements = rig.table.state.elements;
    elements[SetId::kServiceIps].clear();
    CPPUNIT_ASSERT_EQUAL(
        std::string("element 172.30.0.41 of cluster-ips: rejects the packet: no Service has this port of the "
                    "cluster IP (element 172.30.0.41:80/tcp of service-treatments is missing) REJECTED\n"),
        explain(rig, kPod, "172.30.0.41"));
    elements[SetId::kNoEndpointServices].clear();
    elements[SetId::kClusterIps].clear();
    CPPUNIT_ASSERT_EQUAL(
        std::string("table ip kube-proxy: does not handle this destination (element 172.30.0.42 of cluster-ips "
                    "is missing, element 172.30.0.42:80/tcp of rejected-services is missing) NOT PROXIED\n"),
        explain(rig, kOutside, "172.30.0.42"));
    apply(rig, {example(), empty});
    rig.table.state.dispatch.clear();
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"), " of service-chains is missing) REJECTED"));
    apply(rig, {example(), empty});
    rig.table.state.elements[SetId::kEndpoints][slot("172.30.0.41", kClusterSlots)].data =
        endpoint_data(kV4, {*sdk::parse_address("10.180.9.9", kV4), 80});
    CPPUNIT_ASSERT(
        has(explain(rig, kPod, "172.30.0.41"),
            "-> 10.180.9.9:80, 10.180.2.1:80 (element 172.30.0.41:80/tcp slot 0:1 of endpoints has other data than "
            "written) SERVED"));
    rig.table.state = {};
    CPPUNIT_ASSERT_EQUAL(std::string("table ip kube-proxy: does not exist NOT PROXIED\n"),
                         explain(rig, kPod, "172.30.0.41"));
  }

  void missing_rules_and_chains_change_the_verdict() {
    NftablesRig rig;
    apply(rig, {example()});
    auto& chains = rig.table.state.chains;
    const auto good = rig.table.state;
    chains["nat-prerouting"].hook.type += ", dormant";
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"), "(chain nat-prerouting is not attached as written"));
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"), "REJECTED"));
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41", 80, From::kNode), "SERVED"));
    rig.table.state = good;
    chains["endpoints-2"].rules.clear();
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"), "(rule 1 of chain endpoints-2 is missing) REJECTED"));
    rig.table.state = good;
    chains.erase("endpoint");
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"), "chain endpoint does not exist"));
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"), "REJECTED"));
    rig.table.state = good;
    chains["filter-forward"].rules.clear();
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41", 81), "NOT PROXIED"));
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41", 81, From::kNode), "REJECTED"));
    rig.table.state = good;
    for (auto& [number, chain] : rig.table.state.dispatch) chain = "mine";
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"),
                       "chain mine: does what its rules say (it was not written by this backend) NOT PROXIED"));
  }

  void rules_of_others_are_remarked() {
    NftablesRig rig;
    apply(rig, {example()});
    auto& rules = rig.table.state.chains["services"].rules;
    rules.insert(rules.begin(), Rule{"immediate reg 0 drop\n", {}, ""});
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"),
                       "goes to chain endpoints-2 (chain services has rules of others, which may decide first)\n"));
    rig.table.state.elements[SetId::kServiceIps][at("172.30.0.99")] =
        rig.table.state.elements[SetId::kServiceIps][at("172.30.0.41")];
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.99"),
                       "element 172.30.0.99:80/tcp of service-treatments was not written by this backend"));
  }

  void packets_to_an_empty_slot_get_the_first_endpoint() {
    NftablesRig rig;
    apply(rig, {example()});
    const auto endpoints = [&]() -> auto& { return rig.table.state.elements[SetId::kEndpoints]; };
    endpoints().erase(slot("172.30.0.41", kClusterSlots + 1));
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"),
                       "-> 10.180.0.1:80 (element 172.30.0.41:80/tcp slot 0:2 of endpoints is missing) SERVED"));
    rig.table.state.chains["endpoint"].rules.pop_back();
    CPPUNIT_ASSERT(
        has(explain(rig, kPod, "172.30.0.41"), "packets to a slot without an endpoint are not translated) SERVED"));
    apply(rig, {example()});
    rig.table.state.chains["endpoint"].rules.erase(rig.table.state.chains["endpoint"].rules.begin());
    CPPUNIT_ASSERT(
        has(explain(rig, kPod, "172.30.0.41"), "-> 10.180.0.1:80 (rule 1 of chain endpoint is missing) SERVED"));
    apply(rig, {example()});
    endpoints().clear();
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"), "REJECTED"));
  }

  static std::string ending(const Outcome& outcome) {
    if (outcome.kind == Outcome::Kind::kRejected) return " REJECTED\n";
    if (outcome.kind == Outcome::Kind::kDropped) return " DROPPED\n";
    const auto text = [](const EndpointAddress& endpoint) { return nftables::to_string(kV4, endpoint); };
    return " -> " + lib::joined(outcome.endpoints, ", ", text) + " SERVED\n";
  }

  void random_services_are_explained_as_they_should_be_served() {
    struct Sender {
      Client client;
      const char* address;
      From from;
    };
    const Sender kSenders[] = {{Client::kOutside, kOutside, From::kElsewhere},
                               {Client::kPod, kPod, From::kPod},
                               {Client::kNode, kNode, From::kNode}};
    std::map<std::string, unsigned> verdict_counts;
    for (unsigned seed = 0; seed < 60; ++seed) {
      const ServiceSpec spec = RandomServices(kV4, seed).make(seed % RandomServices::kMost);
      NftablesRig rig;
      apply(rig, {spec});
      World world(kV4);
      const abi::ServicePort port = world.service(spec);
      for (const abi::Frontend& frontend : sdk::frontends(port)) {
        const bool is_cluster_ip = frontend.kind == abi::FrontendKind::kClusterIp;
        const Firewall ranges = wanted_firewall(kV4, port, *sdk::parse_address(rig.node.ip, kV4), frontend);
        for (const Sender& sender : kSenders) {
          Outcome outcome = wanted_outcome(port, sender.client, frontend);
          const abi::Address client = *sdk::parse_address(sender.address, kV4);
          const auto allows = [&](const abi::Prefix& range) { return netfilter::contains(range, client); };
          if (!ranges.empty() && std::none_of(ranges.begin(), ranges.end(), allows))
            outcome = {Outcome::Kind::kDropped, {}, false, 0};
          const std::string address =
              frontend.kind == abi::FrontendKind::kNodePort ? kNode : sdk::to_string(frontend.address, kV4);
          const std::string text = explain(rig, sender.address, address, frontend.port, sender.from, spec.protocol);
          const std::string where = "seed " + std::to_string(seed) + ":\n" + text;
          CPPUNIT_ASSERT_MESSAGE(where + ending(outcome), text.ends_with(ending(outcome)));
          ++verdict_counts[text.substr(text.rfind(' '))];
          if (outcome.kind != Outcome::Kind::kBalanced) continue;
          const bool masqueraded = outcome.masqueraded || (is_cluster_ip && sender.client != Client::kPod);
          CPPUNIT_ASSERT_EQUAL_MESSAGE(where, masqueraded, has(text, "MASQUERADES"));
          CPPUNIT_ASSERT_EQUAL_MESSAGE(where, outcome.sticky_seconds != 0, has(text, "sends a known client"));
        }
      }
    }
    CPPUNIT_ASSERT(verdict_counts[" SERVED\n"] > 100 && verdict_counts[" REJECTED\n"] > 5 &&
                   verdict_counts[" DROPPED\n"] > 20);
  }

  void an_explanation_needs_an_apply_and_changes_nothing() {
    NftablesRig rig;
    CPPUNIT_ASSERT_EQUAL(std::string(), explain(rig, kPod, "172.30.0.41"));
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
    apply(rig, {example()});
    const std::string before = rig.table.text();
    const std::uint64_t commits = rig.table.statistics.commits;
    const std::uint64_t listings = rig.table.statistics.listings;
    CPPUNIT_ASSERT(has(explain(rig, kPod, "172.30.0.41"), "SERVED"));
    CPPUNIT_ASSERT_EQUAL(listings + 1, rig.table.statistics.listings);
    CPPUNIT_ASSERT_EQUAL(commits, rig.table.statistics.commits);
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesExplanationTest);

}  // namespace explanation_test
}  // namespace sluice::test
