// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Resolves the policies of Services into service ports (BEH 1.2, 2.1–2.3).
#include "core/store/resolve.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/store/frontends.hpp"
#include "test/unit/store/fixtures.hpp"

namespace sluice::store {
namespace resolve_test {

using lib::Family;
using lib::IpAddress;
using lib::IpPrefix;

class ResolveTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ResolveTest);
  CPPUNIT_TEST(headless_external_name_and_other_family_have_no_service_ports);
  CPPUNIT_TEST(dual_stack_picks_per_family);
  CPPUNIT_TEST(frontends_are_grouped_by_kind);
  CPPUNIT_TEST(external_policy_needs_external_traffic);
  CPPUNIT_TEST(internal_local_without_frontends_uses_no_cluster_list);
  CPPUNIT_TEST(health_check_port_only_for_load_balancer_with_local_policy);
  CPPUNIT_TEST(a_source_range_of_length_zero_allows_every_client);
  CPPUNIT_TEST(ports_do_not_share_endpoints);
  CPPUNIT_TEST(unusable_endpoints_are_omitted_and_draining_ones_kept);
  CPPUNIT_TEST(external_ips_can_be_disabled);
  CPPUNIT_TEST(explained_endpoints_have_reasons);
  CPPUNIT_TEST(explained_endpoints_outside_of_hints);
  CPPUNIT_TEST(explained_service_ports_are_the_resolved_ones);
  CPPUNIT_TEST(ports_beyond_the_limit_of_endpoints_are_rejected_at_the_cluster_ip);
  CPPUNIT_TEST(ports_beyond_the_limit_of_frontends_keep_the_cluster_ip);
  CPPUNIT_TEST(source_ranges_count_as_endpoints);
  CPPUNIT_TEST_SUITE_END();

  SliceCache slices_;

  std::vector<ServicePort> resolved(const model::Service& service, Family family = Family::ipv4) {
    return resolve(service, family, slices_, {"N", "a"});
  }

  void external_ips_can_be_disabled() {
    auto service = test::service();
    service.external_ips = {*IpAddress::parse("192.168.99.11")};
    service.internal_local = true;
    const auto off = resolve(service, Family::ipv4, slices_, {"N", "a", false});
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), off.at(0).frontends.size());
    // Still reachable from outside, because the raw list of external IPs counts.
    CPPUNIT_ASSERT(off[0].uses_cluster);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), resolved(service).at(0).frontends.size());
    service.external_ips.clear();
    CPPUNIT_ASSERT(!resolve(service, Family::ipv4, slices_, {"N", "a", false}).at(0).uses_cluster);
  }

  static const char* text(Use use) {
    static const char* const kTexts[] = {"-", "used", "last", "unready", "gone", "spare", "zone", "node", "remote"};
    return kTexts[int(use)];
  }
  // "10.1.0.1 cluster/local, …"
  std::string explained(const model::Service& service) {
    std::string out;
    const auto ports = explain(service, Family::ipv4, slices_, {"N", "a"});
    for (const auto& one : ports.at(0).endpoints) {
      out += (out.empty() ? "" : ", ") + IpAddress::from_bytes(Family::ipv4, one.endpoint.address.data()).to_string() +
             " " + text(one.cluster) + "/" + text(one.local);
    }
    return out;
  }

  void explained_endpoints_have_reasons() {
    auto service = test::service();
    slices_.upsert(test::slice("x", {{"10.1.0.1", "N"},
                                     {"10.1.0.2", "N", "unready"},
                                     {"10.1.0.3", "N", "terminating"},
                                     {"10.1.0.4", "M", "gone"},
                                     {"10.1.0.5", "M"}}));
    CPPUNIT_ASSERT_EQUAL(
        std::string("10.1.0.1 used/-, 10.1.0.2 unready/-, 10.1.0.3 spare/-, 10.1.0.4 gone/-, 10.1.0.5 used/-"),
        explained(service));
    service.internal_local = true;
    CPPUNIT_ASSERT_EQUAL(
        std::string("10.1.0.1 -/used, 10.1.0.2 -/unready, 10.1.0.3 -/spare, 10.1.0.4 -/remote, 10.1.0.5 -/remote"),
        explained(service));
    service.internal_local = false;
    service.external_local = true;
    service.type = model::ServiceType::node_port;
    service.ports[0].node_port = 30080;
    slices_.upsert(test::slice("x", {{"10.1.0.3", "N", "terminating"}, {"10.1.0.5", "M", "terminating"}}));
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.0.3 last/last, 10.1.0.5 last/remote"), explained(service));
    const auto node = explain(service, Family::ipv4, slices_, {"N", "a"}).at(0).endpoints.at(1).node;
    CPPUNIT_ASSERT_EQUAL(std::string("M"), std::string(node.text()));
  }

  void explained_endpoints_outside_of_hints() {
    slices_.upsert(test::slice("x", {{"10.1.0.1", "N", "ready", {"a"}}, {"10.1.0.2", "M", "ready", {"b"}}}));
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.0.1 used/-, 10.1.0.2 zone/-"), explained(test::service()));
    slices_.upsert(test::slice("x", {{"10.1.0.1", "N", "ready", {}, {"N"}}, {"10.1.0.2", "M", "ready", {}, {"M"}}}));
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.0.1 used/-, 10.1.0.2 node/-"), explained(test::service()));
  }

  void explained_service_ports_are_the_resolved_ones() {
    auto service = test::service();
    service.ports = {{base::Symbol("p80"), model::Protocol::tcp, 80, 30080},
                     {base::Symbol("a"), model::Protocol::udp, 53, 0}};
    service.external_local = true;
    service.type = model::ServiceType::load_balancer;
    slices_.upsert(
        test::slice("x", {{"10.1.0.1", "N"}, {"10.1.0.2", "M", "terminating"}, {"10.1.0.3", "M", "unready"}}));
    const auto ports = explain(service, Family::ipv4, slices_, {"N", "a"});
    const auto wanted = resolved(service);
    CPPUNIT_ASSERT_EQUAL(wanted.size(), ports.size());
    for (std::size_t i = 0; i < ports.size(); ++i) CPPUNIT_ASSERT(ports[i].port == wanted[i]);
  }

  void headless_external_name_and_other_family_have_no_service_ports() {  // cases 79, 83
    auto service = test::service();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), resolved(service).size());
    CPPUNIT_ASSERT(resolved(service, Family::ipv6).empty());
    service.type = model::ServiceType::external_name;
    CPPUNIT_ASSERT(resolved(service).empty());
    service = test::service();
    service.headless = true;
    CPPUNIT_ASSERT(resolved(service).empty());
    service = test::service();
    service.cluster_ips.clear();
    CPPUNIT_ASSERT(resolved(service).empty());
  }

  void dual_stack_picks_per_family() {  // case 83
    auto service = test::service();
    service.cluster_ips = {*IpAddress::parse("fd00::41"), *IpAddress::parse("172.30.0.41")};
    service.external_ips = {*IpAddress::parse("192.168.99.11")};
    const auto v4 = resolved(service);
    const auto v6 = resolved(service, Family::ipv6);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), v4.at(0).frontends.size());
    CPPUNIT_ASSERT_EQUAL(std::string("172.30.0.41"), v4[0].frontends[0].address.to_string());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), v6.at(0).frontends.size());
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::41"), v6[0].frontends[0].address.to_string());
  }

  void frontends_are_grouped_by_kind() {
    auto service = test::service();
    service.type = model::ServiceType::load_balancer;
    service.ports[0].node_port = 30001;
    service.load_balancer_ips = {*IpAddress::parse("1.2.3.4")};
    service.external_ips = {*IpAddress::parse("192.168.99.11"), *IpAddress::parse("192.168.99.11")};
    const auto port = resolved(service).at(0);
    CPPUNIT_ASSERT_EQUAL(std::size_t(4), port.frontends.size());
    CPPUNIT_ASSERT(port.frontends[0].kind == FrontendKind::cluster_ip);
    CPPUNIT_ASSERT(port.frontends[1].kind == FrontendKind::external_ip);
    CPPUNIT_ASSERT(port.frontends[2].kind == FrontendKind::load_balancer);
    CPPUNIT_ASSERT(port.frontends[3].kind == FrontendKind::node_port);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t(30001), port.frontends[3].port);
  }

  void external_policy_needs_external_traffic() {  // case 26
    auto service = test::service();
    service.external_local = true;
    CPPUNIT_ASSERT(!resolved(service).at(0).external_local);
    CPPUNIT_ASSERT(!resolved(service).at(0).uses_local);
    service.external_ips = {*IpAddress::parse("192.168.99.11")};
    CPPUNIT_ASSERT(resolved(service).at(0).external_local);
    CPPUNIT_ASSERT(resolved(service).at(0).uses_local);
    CPPUNIT_ASSERT(resolved(service).at(0).uses_cluster);
  }

  void internal_local_without_frontends_uses_no_cluster_list() {  // cases 28, 29
    auto service = test::service();
    service.internal_local = true;
    slices_.upsert(test::slice("a", {{"10.180.2.1", "M"}}));
    auto port = resolved(service).at(0);
    CPPUNIT_ASSERT(!port.uses_cluster);
    CPPUNIT_ASSERT(port.has_any_endpoint);
    service.ports[0].node_port = 30001;
    service.type = model::ServiceType::node_port;
    port = resolved(service).at(0);
    CPPUNIT_ASSERT(port.uses_cluster);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), port.endpoints.size());
    CPPUNIT_ASSERT(port.endpoints[0].in_cluster);
    CPPUNIT_ASSERT(!port.endpoints[0].in_local);
  }

  void health_check_port_only_for_load_balancer_with_local_policy() {  // case 32
    auto service = test::service();
    service.health_check_node_port = 30000;
    service.external_local = true;
    service.ports[0].node_port = 30001;
    service.type = model::ServiceType::node_port;
    CPPUNIT_ASSERT_EQUAL(std::uint16_t(0), resolved(service).at(0).health_check_node_port);
    service.type = model::ServiceType::load_balancer;
    CPPUNIT_ASSERT_EQUAL(std::uint16_t(30000), resolved(service).at(0).health_check_node_port);
    service.external_local = false;
    CPPUNIT_ASSERT_EQUAL(std::uint16_t(0), resolved(service).at(0).health_check_node_port);
  }

  void a_source_range_of_length_zero_allows_every_client() {  // case 59
    auto service = test::service();
    service.source_ranges = {*IpPrefix::parse("203.0.113.0/25"), *IpPrefix::parse("fd00::/8")};
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), resolved(service).at(0).source_ranges.size());
    service.source_ranges.push_back(*IpPrefix::parse("::/0"));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), resolved(service).at(0).source_ranges.size());
    service.source_ranges.push_back(*IpPrefix::parse("0.0.0.0/0"));
    CPPUNIT_ASSERT(resolved(service).at(0).source_ranges.empty());
  }

  static model::Service with_ports(std::size_t count) {
    auto service = test::service();
    service.ports.clear();
    for (std::size_t i = 0; i < count; ++i) {
      service.ports.push_back(
          {base::Symbol("p" + std::to_string(10'000 + i)), model::Protocol::tcp, static_cast<std::uint16_t>(1 + i), 0});
    }
    return service;
  }

  // A slice with a port of each of these names, all at one number, and so many endpoints.
  static model::EndpointSlice slice_for(const model::Service& service, std::size_t endpoints) {
    std::vector<test::EndpointSpec> specs;
    for (std::size_t i = 0; i < endpoints; ++i) {
      specs.push_back({"10.1." + std::to_string(i / 256) + "." + std::to_string(i % 256)});
    }
    auto out = test::slice("a", specs);
    out.ports.clear();
    for (const auto& port : service.ports) out.ports.push_back({port.name, port.protocol, 8080});
    return out;
  }

  static void require_too_large(const ServicePort& port) {
    CPPUNIT_ASSERT_MESSAGE(port.withheld, port.withheld.find("divide it among several Services") != std::string::npos);
    CPPUNIT_ASSERT(port.endpoints.empty() && !port.has_any_endpoint && port.source_ranges.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), port.frontends.size());
    CPPUNIT_ASSERT(port.frontends[0].kind == FrontendKind::cluster_ip);
  }

  void ports_beyond_the_limit_of_endpoints_are_rejected_at_the_cluster_ip() {
    constexpr std::size_t kEndpoints = 1024;
    constexpr std::size_t kFit = kMostEndpoints / kEndpoints;
    auto service = with_ports(kFit + 2);
    service.external_ips = {*IpAddress::parse("192.0.2.7")};
    slices_.upsert(slice_for(service, kEndpoints));
    const auto ports = resolved(service);
    CPPUNIT_ASSERT_EQUAL(kFit + 2, ports.size());
    for (std::size_t i = 0; i < kFit; ++i) {
      CPPUNIT_ASSERT_EQUAL(std::string(), ports[i].withheld);
      CPPUNIT_ASSERT_EQUAL(kEndpoints, ports[i].endpoints.size());
    }
    for (std::size_t i = kFit; i < ports.size(); ++i) require_too_large(ports[i]);
  }

  void ports_beyond_the_limit_of_frontends_keep_the_cluster_ip() {
    auto service = with_ports(9);
    for (std::size_t i = 0; i < kMostFrontends / 8 - 2; ++i) {  // with the cluster IP and a node port an eighth of them
      service.external_ips.push_back(
          *IpAddress::parse("192.0." + std::to_string(i / 256) + "." + std::to_string(i % 256)));
    }
    const auto ports = resolved(service);
    for (std::size_t i = 0; i < 8; ++i) CPPUNIT_ASSERT_EQUAL(kMostFrontends / 8 - 1, ports[i].frontends.size());
    require_too_large(ports[8]);
  }

  void source_ranges_count_as_endpoints() {
    auto service = with_ports(3);
    for (std::size_t i = 0; i < kMostEndpoints / 2; ++i) {
      service.source_ranges.push_back(
          *IpPrefix::parse("10." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256) + ".0/24"));
    }
    const auto ports = resolved(service);
    CPPUNIT_ASSERT_EQUAL(kMostEndpoints / 2, ports[0].source_ranges.size());
    CPPUNIT_ASSERT_EQUAL(kMostEndpoints / 2, ports[1].source_ranges.size());
    require_too_large(ports[2]);
  }

  void ports_do_not_share_endpoints() {  // case 17
    auto service = test::service();
    service.ports.push_back({base::Symbol("p443"), model::Protocol::tcp, 443, 0});
    slices_.upsert(test::slice("a", {{"10.180.0.1", "N"}}));
    const auto ports = resolved(service);
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p443"), ports.at(0).key.to_string());
    CPPUNIT_ASSERT(!ports[0].has_any_endpoint);
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80"), ports.at(1).key.to_string());
    CPPUNIT_ASSERT(ports[1].has_any_endpoint);
  }

  void unusable_endpoints_are_omitted_and_draining_ones_kept() {
    slices_.upsert(test::slice("a", {{"10.180.2.1", "M", "ready"},
                                     {"10.180.2.2", "M", "terminating"},
                                     {"10.180.2.3", "M", "unready"},
                                     {"10.180.0.4", "N", "unready"}}));
    const auto port = resolved(test::service()).at(0);
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), port.endpoints.size());
    CPPUNIT_ASSERT(port.endpoints[0].local && !port.endpoints[0].in_cluster);
    CPPUNIT_ASSERT(port.endpoints[1].in_cluster);
    CPPUNIT_ASSERT(port.endpoints[2].terminating && !port.endpoints[2].in_cluster);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ResolveTest);

}  // namespace resolve_test
}  // namespace sluice::store
