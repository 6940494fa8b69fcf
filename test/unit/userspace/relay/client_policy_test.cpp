// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which clients keep their address: the same ones that iptables mode does not masquerade.
#include "plugins/userspace/relay/client_policy.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <optional>
#include <string>

#include "plugins/userspace/relay/client_socket.hpp"

namespace sluice::userspace {
namespace client_policy_test {

abi::Address v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  abi::Address address{};
  const std::uint8_t bytes[] = {a, b, c, d};
  std::copy(std::begin(bytes), std::end(bytes), address.bytes);
  return address;
}

const abi::Address kPod = v4(10, 0, 0, 2);
const abi::Address kNode = v4(192, 168, 0, 2);
const abi::Address kOutside = v4(203, 0, 113, 2);
const abi::Address kClusterIp = v4(172, 30, 0, 1);
const abi::Address kVip = v4(1, 2, 3, 4);

class FakeArrival final : public Arrival {
 public:
  explicit FakeArrival(std::optional<abi::Address> to, std::string through = {})
      : to_(to), through_(std::move(through)) {}
  std::optional<Destination> destination() const noexcept override {
    ++asked;
    return to_ ? std::optional(Destination{*to_, 80}) : std::nullopt;
  }
  std::string interface() const override { return through_; }
  mutable int asked = 0;

 private:
  const std::optional<abi::Address> to_;
  const std::string through_;
};

ClientFacts facts_with(abi::LocalDetectorKind detector, bool masquerade_all = false) {
  ClientFacts facts;
  facts.masquerade_all = masquerade_all;
  facts.detector = detector;
  facts.detector_cidr = {v4(10, 0, 0, 0), 8, {}};
  facts.detector_interface = "cni";
  facts.local_addresses = {kNode};
  return facts;
}

ClientFrontends frontends(bool external, bool external_local) { return {kClusterIp, 80, external, external_local}; }

class ClientPolicyTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ClientPolicyTest);
  CPPUNIT_TEST(of_a_cluster_ip_pods_keep_their_address);
  CPPUNIT_TEST(without_a_detector_all_clients_of_a_cluster_ip_keep_it);
  CPPUNIT_TEST(with_masquerade_all_no_client_of_a_cluster_ip_keeps_it);
  CPPUNIT_TEST(with_the_external_policy_cluster_no_client_keeps_it);
  CPPUNIT_TEST(with_the_external_policy_local_all_but_processes_of_this_node_keep_it);
  CPPUNIT_TEST(interfaces_detect_pods_but_not_processes_of_this_node);
  CPPUNIT_TEST(a_link_local_address_is_not_kept);
  CPPUNIT_TEST(an_unknown_destination_hides_the_client);
  CPPUNIT_TEST(the_destination_is_asked_for_only_if_it_matters);
  CPPUNIT_TEST(shared_ports_are_every_other_port_of_the_range);
  CPPUNIT_TEST_SUITE_END();

  static bool kept(const ClientFacts& facts, const ClientFrontends& of, const abi::Address& client,
                   const abi::Address& to, const std::string& through = {}) {
    return keeps_client_address(facts, of, client, FakeArrival(to, through));
  }

  void of_a_cluster_ip_pods_keep_their_address() {
    const ClientFacts facts = facts_with(abi::LocalDetectorKind::kCidr);
    CPPUNIT_ASSERT(kept(facts, frontends(false, false), kPod, kClusterIp));
    CPPUNIT_ASSERT(!kept(facts, frontends(false, false), kNode, kClusterIp));
    CPPUNIT_ASSERT(!kept(facts, frontends(false, false), kOutside, kClusterIp));
    CPPUNIT_ASSERT(kept(facts, frontends(true, false), kPod, kClusterIp));
  }

  void without_a_detector_all_clients_of_a_cluster_ip_keep_it() {
    const ClientFacts facts = facts_with(abi::LocalDetectorKind::kNone);
    for (const abi::Address& client : {kPod, kNode, kOutside}) {
      CPPUNIT_ASSERT(kept(facts, frontends(true, false), client, kClusterIp));
      CPPUNIT_ASSERT(!kept(facts, frontends(true, false), client, kVip));
    }
    // A detector that this build does not know detects nothing.
    CPPUNIT_ASSERT(
        kept(facts_with(static_cast<abi::LocalDetectorKind>(99)), frontends(false, false), kOutside, kClusterIp));
  }

  void with_masquerade_all_no_client_of_a_cluster_ip_keeps_it() {
    for (const auto detector : {abi::LocalDetectorKind::kNone, abi::LocalDetectorKind::kCidr}) {
      const ClientFacts facts = facts_with(detector, true);
      CPPUNIT_ASSERT(!kept(facts, frontends(true, true), kPod, kClusterIp));
      CPPUNIT_ASSERT(!kept(facts, frontends(true, true), kOutside, kClusterIp));
      CPPUNIT_ASSERT(kept(facts, frontends(true, true), kOutside, kVip));
    }
  }

  void with_the_external_policy_cluster_no_client_keeps_it() {
    const ClientFacts facts = facts_with(abi::LocalDetectorKind::kCidr);
    for (const abi::Address& client : {kPod, kNode, kOutside}) {
      CPPUNIT_ASSERT(!kept(facts, frontends(true, false), client, kVip));
    }
  }

  void with_the_external_policy_local_all_but_processes_of_this_node_keep_it() {
    for (const auto detector : {abi::LocalDetectorKind::kNone, abi::LocalDetectorKind::kCidr}) {
      const ClientFacts facts = facts_with(detector);
      CPPUNIT_ASSERT(kept(facts, frontends(true, true), kPod, kVip));
      CPPUNIT_ASSERT(kept(facts, frontends(true, true), kOutside, kVip));
      CPPUNIT_ASSERT(!kept(facts, frontends(true, true), kNode, kVip));
      CPPUNIT_ASSERT(!kept(facts, frontends(true, true), v4(127, 0, 0, 1), kVip));
    }
  }

  void interfaces_detect_pods_but_not_processes_of_this_node() {
    const ClientFacts bridge = facts_with(abi::LocalDetectorKind::kBridgeInterface);
    CPPUNIT_ASSERT(kept(bridge, frontends(false, false), kPod, kClusterIp, "cni"));
    CPPUNIT_ASSERT(!kept(bridge, frontends(false, false), kPod, kClusterIp, "cni0"));
    CPPUNIT_ASSERT(!kept(bridge, frontends(false, false), kPod, kClusterIp));
    const ClientFacts prefix = facts_with(abi::LocalDetectorKind::kInterfaceNamePrefix);
    CPPUNIT_ASSERT(kept(prefix, frontends(false, false), kPod, kClusterIp, "cni0"));
    CPPUNIT_ASSERT(!kept(prefix, frontends(false, false), kPod, kClusterIp, "eth0"));
    CPPUNIT_ASSERT(!kept(prefix, frontends(false, false), kNode, kClusterIp, "cni0"));
  }

  void a_link_local_address_is_not_kept() {
    ClientFacts facts = facts_with(abi::LocalDetectorKind::kNone);
    facts.family = abi::Family::kIpv6;
    CPPUNIT_ASSERT(!kept(facts, frontends(false, false), v4(0xfe, 0x80, 0, 1), kClusterIp));
    CPPUNIT_ASSERT(kept(facts, frontends(false, false), v4(0xfd, 0, 0, 1), kClusterIp));
  }

  void an_unknown_destination_hides_the_client() {
    const FakeArrival unknown{std::nullopt};
    const ClientFacts facts = facts_with(abi::LocalDetectorKind::kCidr);
    CPPUNIT_ASSERT(!keeps_client_address(facts, frontends(true, false), kPod, unknown));
  }

  void the_destination_is_asked_for_only_if_it_matters() {
    const ClientFacts facts = facts_with(abi::LocalDetectorKind::kCidr);
    const FakeArrival arrival{kClusterIp};
    keeps_client_address(facts, frontends(false, false), kPod, arrival);
    keeps_client_address(facts, frontends(true, false), kOutside, arrival);
    keeps_client_address(facts, frontends(true, true), kPod, arrival);
    CPPUNIT_ASSERT_EQUAL(0, arrival.asked);
    keeps_client_address(facts, frontends(true, false), kPod, arrival);
    CPPUNIT_ASSERT_EQUAL(1, arrival.asked);
  }

  void shared_ports_are_every_other_port_of_the_range() {
    SharedPorts ports(32768, 60999, 7);
    std::vector<std::uint16_t> met;
    for (int i = 0; i < 14116; ++i) met.push_back(ports.next());
    std::sort(met.begin(), met.end());
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{32769}, met.front());
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{60999}, met.back());
    CPPUNIT_ASSERT(std::unique(met.begin(), met.end()) == met.end());
    CPPUNIT_ASSERT(std::all_of(met.begin(), met.end(), [](std::uint16_t port) { return port % 2 == 1; }));
    SharedPorts one(5000, 5000, 0);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{5000}, one.next());
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{5000}, one.next());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ClientPolicyTest);

}  // namespace client_policy_test
}  // namespace sluice::userspace
