// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What changes of our Node object mean: BEH 1.4, 11.7 and cases 134, 139, 140.
#include "core/daemon/node_watch.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/observe/events/node_events.hpp"

namespace sluice::daemon {
namespace node_watch_test {

using base::Family;

class NodeWatchTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NodeWatchTest);
  CPPUNIT_TEST(addresses_count_as_they_were_first_known);
  CPPUNIT_TEST(case_139_changed_pod_ranges_end_node_cidr);
  CPPUNIT_TEST(case_139_other_modes_ignore_pod_ranges);
  CPPUNIT_TEST(pod_ranges_of_the_wrong_family);
  CPPUNIT_TEST(case_134_the_first_address_says_which_family_is_the_primary_one);
  CPPUNIT_TEST(case_134_the_bind_address_says_it_before);
  CPPUNIT_TEST(case_140_cluster_ranges_wait_for_the_primary_family);
  CPPUNIT_TEST(a_left_out_port_is_told_of_its_service);
  CPPUNIT_TEST(mode_ipvs_is_told_to_be_deprecated_as_kube_proxy_does);
  CPPUNIT_TEST_SUITE_END();

  static model::Node node(const std::vector<const char*>& ips, const std::vector<const char*>& cidrs = {}) {
    model::Node out;
    out.name = "n";
    for (const char* ip : ips) out.internal_ips.push_back(*base::IpAddress::parse(ip));
    for (const char* cidr : cidrs) out.pod_cidrs.push_back(*base::IpPrefix::parse(cidr));
    return out;
  }
  std::vector<std::string> look(const std::optional<model::Node>& node) {
    node::LocalDetectorSettings settings;
    settings.mode = mode_;
    return watch_.look(node, "n", settings, {Family::ipv4, Family::ipv6});
  }
  std::string only(const std::vector<std::string>& said) {
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, said.size());
    return said.front();
  }

  node::DetectLocalMode mode_ = node::DetectLocalMode::cluster_cidr;
  NodeWatch watch_;

 public:
  void addresses_count_as_they_were_first_known() {
    CPPUNIT_ASSERT(look(std::nullopt).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("node n has no addresses yet in status.addresses"), only(look(node({}))));
    CPPUNIT_ASSERT(watch_.addresses().empty());
    CPPUNIT_ASSERT(look(node({"192.168.0.2"})).empty());
    CPPUNIT_ASSERT_EQUAL(
        std::string("the addresses of node n are now 192.168.0.9; until a restart they count as 192.168.0.2"),
        only(look(node({"192.168.0.9"}))));
    CPPUNIT_ASSERT(look(node({"192.168.0.9"})).empty());
    CPPUNIT_ASSERT_EQUAL(std::string("192.168.0.2"), watch_.addresses().front().to_string());
  }

  void case_139_changed_pod_ranges_end_node_cidr() {
    mode_ = node::DetectLocalMode::node_cidr;
    look(node({}));
    look(node({}, {"10.0.0.0/24"}));
    CPPUNIT_ASSERT(watch_.fatal().ok());
    look(node({}));  // gone for a moment
    CPPUNIT_ASSERT(watch_.fatal().ok());
    look(node({}, {"10.0.1.0/24"}));
    CPPUNIT_ASSERT(watch_.fatal().message().find("changed from 10.0.0.0/24 to 10.0.1.0/24") != std::string::npos);
  }

  void case_139_other_modes_ignore_pod_ranges() {
    look(node({}, {"10.0.0.0/24"}));
    look(node({}, {"10.0.1.0/24"}));
    CPPUNIT_ASSERT(watch_.fatal().ok());
  }

  void pod_ranges_of_the_wrong_family() {
    CPPUNIT_ASSERT(only(look(node({"192.168.0.2"}, {"fd00::/64"}))).find("spec.podCIDRs") != std::string::npos);
    CPPUNIT_ASSERT(watch_.fatal().ok());
    NodeWatch other;
    node::LocalDetectorSettings settings;
    settings.mode = node::DetectLocalMode::node_cidr;
    other.look(node({}, {"fd00::/64"}), "n", settings, {Family::ipv4});
    CPPUNIT_ASSERT(!other.fatal().ok());
  }

  void case_134_the_first_address_says_which_family_is_the_primary_one() {
    mode_ = node::DetectLocalMode::node_cidr;
    look(node({}, {"fd00::/64"}));  // who knows
    CPPUNIT_ASSERT(watch_.fatal().ok());
    CPPUNIT_ASSERT(look(node({"fd00::2", "192.168.0.2"}, {"fd00::/64"})).empty());
    CPPUNIT_ASSERT(watch_.fatal().ok());
    NodeWatch other;
    node::LocalDetectorSettings settings;
    settings.mode = mode_;
    const std::vector<Family> both{Family::ipv4, Family::ipv6};
    other.look(node({"192.168.0.2", "fd00::2"}, {"fd00::/64"}), "n", settings, both);
    CPPUNIT_ASSERT(other.fatal().message().find("primary family is IPv4") != std::string::npos);
    NodeWatch third;
    third.look(node({"fd00::2"}, {"10.0.0.0/24"}), "n", settings, both);
    CPPUNIT_ASSERT(third.fatal().message().find("primary family is IPv6") != std::string::npos);
  }

  void case_134_the_bind_address_says_it_before() {
    node::LocalDetectorSettings settings;
    settings.mode = node::DetectLocalMode::node_cidr;
    NodeWatch watch(*base::IpAddress::parse("fd00::5"));
    watch.look(node({}, {"fd00::/64"}), "n", settings, {Family::ipv6, Family::ipv4});
    CPPUNIT_ASSERT(watch.fatal().ok());
    NodeWatch other(*base::IpAddress::parse("fd00::5"));
    other.look(node({"192.168.0.2"}, {"10.0.0.0/24"}), "n", settings, {Family::ipv6, Family::ipv4});
    CPPUNIT_ASSERT(!other.fatal().ok());
  }

  void case_140_cluster_ranges_wait_for_the_primary_family() {
    node::LocalDetectorSettings settings;
    settings.cluster_cidrs.push_back(*base::IpPrefix::parse("fd00:10::/48"));
    const std::vector<Family> both{Family::ipv4, Family::ipv6};
    CPPUNIT_ASSERT(watch_.look(node({"fd00::2"}), "n", settings, both).empty());
    NodeWatch other;
    CPPUNIT_ASSERT(only(other.look(node({"192.168.0.2"}), "n", settings, both)).find("cluster CIDR") !=
                   std::string::npos);
    CPPUNIT_ASSERT(other.look(node({"192.168.0.2"}, {"10.0.0.0/24"}), "n", settings, both).empty());  // once
    CPPUNIT_ASSERT(other.fatal().ok());
  }

  void mode_ipvs_is_told_to_be_deprecated_as_kube_proxy_does() {  // BEH 11.8
    const auto event = observe::ipvs_deprecation_event("n");
    CPPUNIT_ASSERT_EQUAL(std::string("IPVSDeprecation"), event.reason);
    CPPUNIT_ASSERT_EQUAL(std::string("StartKubeProxy"), event.action);
    CPPUNIT_ASSERT(event.type == kube::ClusterEvent::Type::warning);
    CPPUNIT_ASSERT(event.regarding == kube::Regarding::node("n"));
  }

  void a_left_out_port_is_told_of_its_service() {
    const auto event = observe::left_out_event("iptables", {{"shop", "cart", "http"}, "too long", 0});
    CPPUNIT_ASSERT((event.regarding == kube::Regarding::service("shop", "cart")));
    CPPUNIT_ASSERT_EQUAL(std::string("backend iptables left out shop/cart:http: too long"), event.note);
    CPPUNIT_ASSERT(
        (observe::backend_event("n", "b", abi::Severity::kInfo, "R", "m", {}).regarding == kube::Regarding::node("n")));
    CPPUNIT_ASSERT((observe::backend_event("n", "b", abi::Severity::kInfo, "R", "m",
                                           plugin::ServicePortName{"shop", "cart", "http"})
                        .regarding == kube::Regarding::service("shop", "cart")));
    CPPUNIT_ASSERT((observe::left_out_event("b", {{"shop", "cart", ""}, "m", 0}).regarding ==
                    kube::Regarding::service("shop", "cart")));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NodeWatchTest);

}  // namespace node_watch_test
}  // namespace sluice::daemon
