// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the selection of node IPs, node port addresses and local detectors. BEH 5.1, 5.7, 5.8, 11.4, 11.7 and cases
// 65-69, 134, 140.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/node/local_detector.hpp"
#include "core/node/node_ips.hpp"
#include "core/node/node_port_addresses.hpp"

namespace sluice::node {
namespace node_facts_test {

using lib::Family;
using lib::IpAddress;
using lib::IpPrefix;

IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }
IpPrefix prefix(const char* text) { return IpPrefix::parse(text).value(); }
std::vector<IpAddress> ips(const std::vector<const char*>& texts) {
  std::vector<IpAddress> out;
  for (const char* text : texts) out.push_back(ip(text));
  return out;
}
std::vector<IpPrefix> prefixes(const std::vector<const char*>& texts) {
  std::vector<IpPrefix> out;
  for (const char* text : texts) out.push_back(prefix(text));
  return out;
}
NodePortSettings ranges(const std::vector<const char*>& texts) { return {false, prefixes(texts)}; }

// The node of the conformance cases, with IPv6.
std::vector<InterfaceAddress> interfaces() {
  return {{ip("127.0.0.1"), 8, AddressScope::host, true, "lo"},
          {ip("::1"), 128, AddressScope::host, true, "lo"},
          {ip("192.168.1.2"), 24, AddressScope::global, false, "eth1"},
          {ip("192.168.0.2"), 24, AddressScope::global, false, "eth0"},
          {ip("192.168.0.2"), 32, AddressScope::global, false, "vip0"},
          {ip("fd00::2"), 64, AddressScope::global, false, "eth0"},
          {ip("fe80::1"), 64, AddressScope::link, false, "eth0"}};
}

NodePortAddresses choose(const NodePortSettings& settings, Family family, bool localhost = true,
                         const NodeIps& node_ips = {}) {
  return choose_node_port_addresses(settings, family, interfaces(), node_ips, localhost);
}

class NodeFactsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NodeFactsTest);
  CPPUNIT_TEST(case_134_node_ips);
  CPPUNIT_TEST(first_address_of_a_family_is_used);
  CPPUNIT_TEST(node_names_are_normalised);
  CPPUNIT_TEST(case_63_unset_matches_all);
  CPPUNIT_TEST(case_64_localhost_can_be_turned_off);
  CPPUNIT_TEST(case_65_range_selects_addresses);
  CPPUNIT_TEST(case_66_a_loopback_range_serves_localhost);
  CPPUNIT_TEST(case_67_a_family_without_ranges_matches_all);
  CPPUNIT_TEST(case_68_ipv6_loopback_is_skipped_with_a_warning);
  CPPUNIT_TEST(case_69_primary_is_the_node_ip);
  CPPUNIT_TEST(ranges_that_contain_localhost_serve_it);
  CPPUNIT_TEST(ipv4_loopback_is_skipped_when_localhost_is_off);
  CPPUNIT_TEST(ranges_without_an_address_serve_nothing);
  CPPUNIT_TEST(suspicious_node_port_settings_are_reported);
  CPPUNIT_TEST(local_addresses_are_sorted_and_never_loopback);
  CPPUNIT_TEST(detect_local_modes_are_parsed);
  CPPUNIT_TEST(cidr_detectors_use_the_first_of_each_family);
  CPPUNIT_TEST(interface_detectors_serve_both_families);
  CPPUNIT_TEST(case_140_cluster_cidr_of_the_wrong_family);
  CPPUNIT_TEST(pod_cidrs_of_the_wrong_family_are_fatal_in_their_mode);
  CPPUNIT_TEST_SUITE_END();

 public:
  void case_134_node_ips() {
    const NodeIps both = choose_node_ips(ips({"192.168.0.2", "fd00::2"}), ip("0.0.0.0"));
    CPPUNIT_ASSERT(both.primary == Family::ipv4);
    CPPUNIT_ASSERT(both.of(Family::ipv4) == ip("192.168.0.2") && both.of(Family::ipv6) == ip("fd00::2"));
    const NodeIps bound = choose_node_ips(ips({"192.168.0.2", "fd00::2"}), ip("fd00::5"));
    CPPUNIT_ASSERT(bound.primary == Family::ipv6);
    CPPUNIT_ASSERT(bound.of(Family::ipv4) == ip("192.168.0.2") && bound.of(Family::ipv6) == ip("fd00::5"));
    const NodeIps unknown = choose_node_ips({}, ip("0.0.0.0"));
    CPPUNIT_ASSERT(unknown == NodeIps());
    CPPUNIT_ASSERT(unknown.primary == Family::ipv4);
    CPPUNIT_ASSERT(unknown.of(Family::ipv4) == ip("127.0.0.1") && unknown.of(Family::ipv6) == ip("::1"));
    // An unspecified bind address does not select the primary family.
    CPPUNIT_ASSERT(choose_node_ips({}, ip("::")).primary == Family::ipv4);
  }

  void first_address_of_a_family_is_used() {
    const NodeIps out = choose_node_ips(ips({"fd00::2", "192.168.0.2", "fd00::3", "192.168.1.2"}), ip("::"));
    CPPUNIT_ASSERT(out.primary == Family::ipv6);
    CPPUNIT_ASSERT(out.of(Family::ipv4) == ip("192.168.0.2") && out.of(Family::ipv6) == ip("fd00::2"));
  }

  void node_names_are_normalised() {
    CPPUNIT_ASSERT_EQUAL(std::string("node-1"), normalized_node_name("", "Node-1"));
    CPPUNIT_ASSERT_EQUAL(std::string("flag"), normalized_node_name(" FLAG\t", "host"));
    CPPUNIT_ASSERT_EQUAL(std::string(), normalized_node_name("  ", "host"));
    CPPUNIT_ASSERT_EQUAL(std::string(), normalized_node_name("", ""));
  }

  void case_63_unset_matches_all() {
    CPPUNIT_ASSERT((choose({}, Family::ipv4) == NodePortAddresses{true, {}, true, {}}));
    CPPUNIT_ASSERT((choose({}, Family::ipv6) == NodePortAddresses{true, {}, false, {}}));
  }

  void case_64_localhost_can_be_turned_off() {
    CPPUNIT_ASSERT((choose({}, Family::ipv4, false) == NodePortAddresses{true, {}, false, {}}));
  }

  void case_65_range_selects_addresses() {
    CPPUNIT_ASSERT((choose(ranges({"192.168.0.0/24"}), Family::ipv4) ==
                    NodePortAddresses{false, ips({"192.168.0.2"}), false, {}}));
  }

  void case_66_a_loopback_range_serves_localhost() {
    CPPUNIT_ASSERT((choose(ranges({"192.168.0.0/24", "127.0.0.0/8"}), Family::ipv4) ==
                    NodePortAddresses{false, ips({"127.0.0.1", "192.168.0.2"}), true, {}}));
  }

  void case_67_a_family_without_ranges_matches_all() {
    const NodePortSettings v6 = ranges({"::/0", "fd00::/64"});
    CPPUNIT_ASSERT((choose(v6, Family::ipv4) == NodePortAddresses{true, {}, true, {}}));
    CPPUNIT_ASSERT((choose(v6, Family::ipv6) == NodePortAddresses{true, {}, false, {}}));
  }

  void case_68_ipv6_loopback_is_skipped_with_a_warning() {
    const NodePortAddresses out = choose(ranges({"::1/128", "fd00::/64"}), Family::ipv6);
    CPPUNIT_ASSERT(out.addresses == ips({"fd00::2"}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, out.warnings.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("node ports cannot be served on ::1: IPv6 has no node ports on loopback addresses"),
        out.warnings.front());
  }

  void case_69_primary_is_the_node_ip() {
    const NodePortSettings primary{true, {}};
    const NodeIps known = choose_node_ips(ips({"192.168.0.2", "fd00::2"}), ip("0.0.0.0"));
    CPPUNIT_ASSERT(
        (choose(primary, Family::ipv4, true, known) == NodePortAddresses{false, ips({"192.168.0.2"}), false, {}}));
    CPPUNIT_ASSERT(
        (choose(primary, Family::ipv6, true, known) == NodePortAddresses{false, ips({"fd00::2"}), false, {}}));
    CPPUNIT_ASSERT((choose(primary, Family::ipv4) == NodePortAddresses{true, {}, true, {}}));
    // The node IP is known in one family only.
    const NodeIps half = choose_node_ips(ips({"192.168.0.2"}), ip("0.0.0.0"));
    CPPUNIT_ASSERT(choose(primary, Family::ipv6, true, half).match_all);
  }

  void ranges_that_contain_localhost_serve_it() {
    for (const char* range : {"127.0.0.1/32", "127.5.0.0/16", "127.0.0.0/8", "126.0.0.0/7", "0.0.0.0/1", "0.0.0.0/0"}) {
      CPPUNIT_ASSERT_MESSAGE(range, choose(ranges({range}), Family::ipv4).on_localhost);
      CPPUNIT_ASSERT_MESSAGE(range, !choose(ranges({range}), Family::ipv4, false).on_localhost);
    }
    for (const char* range : {"128.0.0.0/1", "10.0.0.0/8"})
      CPPUNIT_ASSERT(!choose(ranges({range}), Family::ipv4).on_localhost);
  }

  void ipv4_loopback_is_skipped_when_localhost_is_off() {
    const NodePortAddresses out = choose(ranges({"127.0.0.0/8", "192.168.0.0/16"}), Family::ipv4, false);
    CPPUNIT_ASSERT(out.addresses == ips({"192.168.0.2", "192.168.1.2"}));
    CPPUNIT_ASSERT_EQUAL(
        std::string("node ports cannot be served on 127.0.0.1: node ports on localhost are turned off"),
        out.warnings.at(0));
  }

  void ranges_without_an_address_serve_nothing() {
    CPPUNIT_ASSERT((choose(ranges({"203.0.113.0/24"}), Family::ipv4) == NodePortAddresses{false, {}, false, {}}));
  }

  void suspicious_node_port_settings_are_reported() {
    const std::vector<Family> dual{Family::ipv4, Family::ipv6};
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, check_node_port_families({}, dual).size());
    CPPUNIT_ASSERT(check_node_port_families({true, {}}, dual).empty());
    CPPUNIT_ASSERT(check_node_port_families(ranges({"10.0.0.0/8", "fd00::/8"}), dual).empty());
    CPPUNIT_ASSERT(check_node_port_families(ranges({"10.0.0.0/8"}), {Family::ipv4}).empty());
    const auto half = check_node_port_families(ranges({"10.0.0.0/8"}), dual);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, half.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("the node-port addresses have no IPv6 range: node ports are served on all IPv6 addresses "
                    "of this node"),
        half.front());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, check_node_port_families(ranges({"fd00::/8"}), {Family::ipv4}).size());
    CPPUNIT_ASSERT(check_node_port_families({}, {}).empty());
  }

  void local_addresses_are_sorted_and_never_loopback() {
    CPPUNIT_ASSERT(local_addresses(interfaces(), Family::ipv4) == ips({"192.168.0.2", "192.168.1.2"}));
    CPPUNIT_ASSERT(local_addresses(interfaces(), Family::ipv6) == ips({"fd00::2", "fe80::1"}));
  }

  void detect_local_modes_are_parsed() {
    for (const char* name : {"ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix"}) {
      CPPUNIT_ASSERT(detect_local_mode_name(parse_detect_local_mode(name).value()) == name);
    }
    CPPUNIT_ASSERT(!parse_detect_local_mode("clustercidr"));
    CPPUNIT_ASSERT(!parse_detect_local_mode(""));
  }

  void cidr_detectors_use_the_first_of_each_family() {
    LocalDetectorSettings settings;
    settings.cluster_cidrs = prefixes({"10.0.0.0/8", "fd00::/16"});
    const auto pod_cidrs = prefixes({"fd01::/64", "10.1.0.0/24", "10.2.0.0/24"});
    const LocalDetectors cluster = make_local_detectors(settings, pod_cidrs);
    CPPUNIT_ASSERT((cluster[0] == LocalDetector{LocalDetectorKind::cidr, prefix("10.0.0.0/8"), ""}));
    CPPUNIT_ASSERT((cluster[1] == LocalDetector{LocalDetectorKind::cidr, prefix("fd00::/16"), ""}));
    settings.mode = DetectLocalMode::node_cidr;
    const LocalDetectors node = make_local_detectors(settings, pod_cidrs);
    CPPUNIT_ASSERT((node[0] == LocalDetector{LocalDetectorKind::cidr, prefix("10.1.0.0/24"), ""}));
    CPPUNIT_ASSERT((node[1] == LocalDetector{LocalDetectorKind::cidr, prefix("fd01::/64"), ""}));
    CPPUNIT_ASSERT(make_local_detectors({}, pod_cidrs) == LocalDetectors());
  }

  void interface_detectors_serve_both_families() {
    LocalDetectorSettings settings{DetectLocalMode::bridge_interface, {}, "br0", "veth"};
    for (const LocalDetector& detector : make_local_detectors(settings, {})) {
      CPPUNIT_ASSERT((detector == LocalDetector{LocalDetectorKind::bridge_interface, {}, "br0"}));
    }
    settings.mode = DetectLocalMode::interface_name_prefix;
    for (const LocalDetector& detector : make_local_detectors(settings, {})) {
      CPPUNIT_ASSERT((detector == LocalDetector{LocalDetectorKind::interface_prefix, {}, "veth"}));
    }
  }

  void case_140_cluster_cidr_of_the_wrong_family() {
    LocalDetectorSettings settings;
    settings.cluster_cidrs = prefixes({"fd00::/16"});
    const FamilyCheck single = check_detector_families(settings, {}, {Family::ipv4});
    CPPUNIT_ASSERT_EQUAL(
        std::string("this node's primary family is IPv4, but the cluster CIDR has only IPv6 ranges, and mode "
                    "ClusterCIDR needs one of the primary family"),
        single.fatal.message());
    const FamilyCheck dual = check_detector_families(settings, {}, {Family::ipv4, Family::ipv6});
    CPPUNIT_ASSERT(dual.fatal.ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, dual.warnings.size());
    CPPUNIT_ASSERT(make_local_detectors(settings, {})[0].kind == LocalDetectorKind::none);
    settings.mode = DetectLocalMode::bridge_interface;
    CPPUNIT_ASSERT(check_detector_families(settings, {}, {Family::ipv4}).fatal.ok());
    CPPUNIT_ASSERT(check_detector_families({}, {}, {Family::ipv4}).warnings.empty());
  }

  void pod_cidrs_of_the_wrong_family_are_fatal_in_their_mode() {
    const auto pod_cidrs = prefixes({"fd00::/64"});
    LocalDetectorSettings settings;
    CPPUNIT_ASSERT_EQUAL(std::size_t{1},
                         check_detector_families(settings, pod_cidrs, {Family::ipv4, Family::ipv6}).warnings.size());
    settings.mode = DetectLocalMode::node_cidr;
    CPPUNIT_ASSERT(!check_detector_families(settings, pod_cidrs, {Family::ipv4, Family::ipv6}).fatal.ok());
    CPPUNIT_ASSERT(check_detector_families(settings, pod_cidrs, {Family::ipv6, Family::ipv4}).fatal.ok());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NodeFactsTest);

}  // namespace node_facts_test
}  // namespace sluice::node
