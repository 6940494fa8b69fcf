// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Changes of the own Node object: BEH 1.4, 11.7 and cases 134, 139, 140.
#include "core/node/node_watch.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

namespace sluice::node {
namespace node_watch_test {

using lib::Family;

class NodeWatchTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NodeWatchTest);
  CPPUNIT_TEST(first_known_addresses_are_kept);
  CPPUNIT_TEST(case_139_changed_pod_cidrs_are_fatal_in_node_cidr_mode);
  CPPUNIT_TEST(case_139_other_modes_ignore_pod_cidrs);
  CPPUNIT_TEST(pod_cidrs_of_the_wrong_family);
  CPPUNIT_TEST(case_134_the_first_address_determines_the_primary_family);
  CPPUNIT_TEST(case_134_the_bind_address_determines_the_primary_family);
  CPPUNIT_TEST(case_140_cluster_cidrs_are_checked_with_the_primary_family);
  CPPUNIT_TEST_SUITE_END();

  static model::Node node(const std::vector<const char*>& ips, const std::vector<const char*>& cidrs = {}) {
    model::Node out;
    out.name = "n";
    for (const char* ip : ips) out.internal_ips.push_back(*lib::IpAddress::parse(ip));
    for (const char* cidr : cidrs) out.pod_cidrs.push_back(*lib::IpPrefix::parse(cidr));
    return out;
  }
  std::vector<NodeWarning> update(const std::optional<model::Node>& node) {
    LocalDetectorSettings settings;
    settings.mode = mode_;
    return watch_.update(node, "n", settings, {Family::ipv4, Family::ipv6});
  }
  std::string only(const std::vector<NodeWarning>& warnings) {
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, warnings.size());
    return warnings.front().text;
  }

  DetectLocalMode mode_ = DetectLocalMode::cluster_cidr;
  NodeWatch watch_;

 public:
  void first_known_addresses_are_kept() {
    CPPUNIT_ASSERT(update(std::nullopt).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("node n has no addresses yet in status.addresses"), only(update(node({}))));
    CPPUNIT_ASSERT(watch_.addresses().empty());
    CPPUNIT_ASSERT(update(node({"192.168.0.2"})).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("addresses of node n changed to 192.168.0.9; using 192.168.0.2 until a restart"),
                         only(update(node({"192.168.0.9"}))));
    CPPUNIT_ASSERT(update(node({"192.168.0.9"})).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("192.168.0.2"), watch_.addresses().front().to_string());
  }

  void case_139_changed_pod_cidrs_are_fatal_in_node_cidr_mode() {
    mode_ = DetectLocalMode::node_cidr;
    update(node({}));
    update(node({}, {"10.0.0.0/24"}));
    CPPUNIT_ASSERT(watch_.fatal().ok());
    update(node({}));  // temporarily without pod CIDRs
    CPPUNIT_ASSERT(watch_.fatal().ok());
    update(node({}, {"10.0.1.0/24"}));
    CPPUNIT_ASSERT(watch_.fatal().message().find("changed from 10.0.0.0/24 to 10.0.1.0/24") != std::string::npos);
  }

  void case_139_other_modes_ignore_pod_cidrs() {
    update(node({}, {"10.0.0.0/24"}));
    update(node({}, {"10.0.1.0/24"}));
    CPPUNIT_ASSERT(watch_.fatal().ok());
  }

  void pod_cidrs_of_the_wrong_family() {
    CPPUNIT_ASSERT(only(update(node({"192.168.0.2"}, {"fd00::/64"}))).find("spec.podCIDRs") != std::string::npos);
    CPPUNIT_ASSERT(watch_.fatal().ok());
    NodeWatch other;
    LocalDetectorSettings settings;
    settings.mode = DetectLocalMode::node_cidr;
    other.update(node({}, {"fd00::/64"}), "n", settings, {Family::ipv4});
    CPPUNIT_ASSERT(!other.fatal().ok());
  }

  void case_134_the_first_address_determines_the_primary_family() {
    mode_ = DetectLocalMode::node_cidr;
    update(node({}, {"fd00::/64"}));  // the primary family is not known yet
    CPPUNIT_ASSERT(watch_.fatal().ok());
    CPPUNIT_ASSERT(update(node({"fd00::2", "192.168.0.2"}, {"fd00::/64"})).empty());
    CPPUNIT_ASSERT(watch_.fatal().ok());
    NodeWatch other;
    LocalDetectorSettings settings;
    settings.mode = mode_;
    const std::vector<Family> both{Family::ipv4, Family::ipv6};
    other.update(node({"192.168.0.2", "fd00::2"}, {"fd00::/64"}), "n", settings, both);
    CPPUNIT_ASSERT(other.fatal().message().find("primary family is IPv4") != std::string::npos);
    NodeWatch third;
    third.update(node({"fd00::2"}, {"10.0.0.0/24"}), "n", settings, both);
    CPPUNIT_ASSERT(third.fatal().message().find("primary family is IPv6") != std::string::npos);
  }

  void case_134_the_bind_address_determines_the_primary_family() {
    LocalDetectorSettings settings;
    settings.mode = DetectLocalMode::node_cidr;
    NodeWatch watch(*lib::IpAddress::parse("fd00::5"));
    watch.update(node({}, {"fd00::/64"}), "n", settings, {Family::ipv6, Family::ipv4});
    CPPUNIT_ASSERT(watch.fatal().ok());
    NodeWatch other(*lib::IpAddress::parse("fd00::5"));
    other.update(node({"192.168.0.2"}, {"10.0.0.0/24"}), "n", settings, {Family::ipv6, Family::ipv4});
    CPPUNIT_ASSERT(!other.fatal().ok());
  }

  void case_140_cluster_cidrs_are_checked_with_the_primary_family() {
    LocalDetectorSettings settings;
    settings.cluster_cidrs.push_back(*lib::IpPrefix::parse("fd00:10::/48"));
    const std::vector<Family> both{Family::ipv4, Family::ipv6};
    CPPUNIT_ASSERT(watch_.update(node({"fd00::2"}), "n", settings, both).empty());
    NodeWatch other;
    CPPUNIT_ASSERT(only(other.update(node({"192.168.0.2"}), "n", settings, both)).find("cluster CIDR") !=
                   std::string::npos);
    CPPUNIT_ASSERT(other.update(node({"192.168.0.2"}, {"10.0.0.0/24"}), "n", settings, both).empty());  // once
    CPPUNIT_ASSERT(other.fatal().ok());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NodeWatchTest);

}  // namespace node_watch_test
}  // namespace sluice::node
