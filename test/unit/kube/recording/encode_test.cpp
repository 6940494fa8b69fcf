// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Encodes and decodes random objects, which must stay equal.
#include "core/kube/recording/encode.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <random>

#include "lib/rfc3339.hpp"
#include "test/unit/kube/decoding.hpp"
#include "test/unit/repetitions.hpp"

namespace sluice::kube {
namespace encode_test {

using lib::Family;
using lib::IpAddress;
using lib::IpPrefix;
using base::Symbol;

const int kObjects = static_cast<int>(test::repetitions(2000));

// Random objects, the same in every run; each field is sometimes set and sometimes not.
class Generator {
 public:
  model::Service service() {
    model::Service out;
    out.name = name();
    out.type = pick({model::ServiceType::cluster_ip, model::ServiceType::node_port, model::ServiceType::load_balancer,
                     model::ServiceType::external_name});
    if (out.type == model::ServiceType::external_name) return out;
    out.headless = chance(5);
    if (!out.headless) {
      if (chance(1)) out.cluster_ips.push_back(address(Family::ipv4));
      if (chance(1)) out.cluster_ips.push_back(address(Family::ipv6));
      if (out.cluster_ips.size() == 2 && chance(1)) std::swap(out.cluster_ips[0], out.cluster_ips[1]);
    }
    for (int i = number(0, 4); i > 0; --i) {
      out.ports.push_back({Symbol(i == 1 && chance(1) ? "" : "port-" + std::to_string(i)), protocol(),
                           static_cast<std::uint16_t>(i * 1000),
                           static_cast<std::uint16_t>(chance(1) ? 30000 + i : 0)});
    }
    if (chance(2)) out.affinity_seconds = static_cast<std::uint32_t>(number(1, 86400));
    for (int i = number(0, 3); i > 0; --i) out.external_ips.push_back(address(family()));
    for (int i = number(0, 3); i > 0; --i) out.source_ranges.push_back(prefix());
    for (int i = number(0, 3); i > 0; --i) out.load_balancer_ips.push_back(address(family()));
    out.internal_local = chance(2);
    out.external_local = chance(2);
    if (chance(2)) out.health_check_node_port = static_cast<std::uint16_t>(number(1, 65535));
    return out;
  }

  model::EndpointSlice slice() {
    model::EndpointSlice out;
    out.name = name();
    out.service = {out.name.name_space, "web-" + std::to_string(number(0, 9))};
    out.family = family();
    for (int i = number(0, 3); i > 0; --i) {
      out.ports.push_back(
          {Symbol(chance(2) ? "" : "p" + std::to_string(i)), protocol(), static_cast<std::uint16_t>(number(1, 65535))});
    }
    for (int i = number(0, 6); i > 0; --i) {
      model::SliceEndpoint endpoint;
      endpoint.address = address(out.family).bytes();
      if (chance(2)) endpoint.node = Symbol("node-" + std::to_string(number(0, 5)));
      endpoint.zone_hints = hints("zone-");
      endpoint.node_hints = hints("node-");
      endpoint.ready = chance(1);
      endpoint.serving = chance(1);
      endpoint.terminating = chance(1);
      out.endpoints.push_back(endpoint);
    }
    if (chance(2)) {
      out.trigger_time = std::chrono::system_clock::time_point(
          std::chrono::nanoseconds(1'790'000'000'000'000'000 + number(0, 999'999'999) * number(0, 1)));
    }
    return out;
  }

  model::Node node() {
    model::Node out;
    out.name = "node-" + std::to_string(number(0, 99)) + ".example.com";
    if (chance(2)) out.zone = pick<std::string>({"zone-a", "z\"one\\", "Zürich"});
    for (int i = number(0, 3); i > 0; --i) out.internal_ips.push_back(address(family()));
    for (int i = number(0, 3); i > 0; --i) out.external_ips.push_back(address(family()));
    for (int i = number(0, 2); i > 0; --i) out.pod_cidrs.push_back(prefix());
    out.leaving = chance(2);
    return out;
  }

  model::ServiceCidr service_cidr() {
    model::ServiceCidr out;
    out.name = "cidr-" + std::to_string(number(0, 99));
    for (int i = number(0, 3); i > 0; --i) {
      const Family chosen = family();
      out.cidrs.push_back({address(chosen), number(1, lib::family_bits(chosen))});
    }
    return out;
  }

 private:
  int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(engine_); }
  // True with probability 1 / (`one_in` + 1).
  bool chance(int one_in) { return number(0, one_in) == 0; }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[number(0, static_cast<int>(choices.size()) - 1)];
  }
  Family family() { return pick({Family::ipv4, Family::ipv6}); }
  model::Protocol protocol() { return pick({model::Protocol::tcp, model::Protocol::udp, model::Protocol::sctp}); }
  model::ObjectName name() {
    return {Symbol("ns-" + std::to_string(number(0, 9))), "object." + std::to_string(number(0, 999))};
  }
  IpAddress address(Family family) {
    std::array<std::uint8_t, 16> bytes{};
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(number(0, 255));
    bytes[0] = 0xfd;  // an IPv4-mapped address would be IPv4
    return IpAddress::from_bytes(family, bytes.data());
  }
  IpPrefix prefix() {
    const Family chosen = family();
    return {address(chosen), number(0, lib::family_bits(chosen))};
  }
  Symbol hints(const std::string& prefix) {
    std::vector<std::string> names;
    for (int i = number(0, 2); i > 0; --i) names.push_back(prefix + std::to_string(number(0, 9)));
    return model::pack_names({names.begin(), names.end()});
  }

  std::mt19937 engine_{20261121};
};

template <class T>
void assert_round_trip(model::ResourceKind kind, const T& object) {
  const std::string text = encode_object(object);
  const Decoded decoded = test::decode(kind, text);
  CPPUNIT_ASSERT_EQUAL_MESSAGE(text, std::string("ok"), test::outcome(decoded));
  CPPUNIT_ASSERT_MESSAGE(text, decoded.notes.empty());
  CPPUNIT_ASSERT_MESSAGE(text, std::get<T>(std::get<Object>(decoded.result)) == object);
  CPPUNIT_ASSERT_MESSAGE(text, text.find('\n') == std::string::npos);
}

class EncodeTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(EncodeTest);
  CPPUNIT_TEST(random_services_survive_a_round_trip);
  CPPUNIT_TEST(random_slices_survive_a_round_trip);
  CPPUNIT_TEST(random_nodes_survive_a_round_trip);
  CPPUNIT_TEST(random_service_cidrs_survive_a_round_trip);
  CPPUNIT_TEST(a_service_reads_as_kubernetes_writes_it);
  CPPUNIT_TEST(a_slice_reads_as_kubernetes_writes_it);
  CPPUNIT_TEST(a_node_reads_as_kubernetes_writes_it);
  CPPUNIT_TEST(a_reference_has_only_metadata);
  CPPUNIT_TEST_SUITE_END();

 public:
  void random_services_survive_a_round_trip() {
    Generator generator;
    for (int i = 0; i < kObjects; ++i) assert_round_trip(model::ResourceKind::service, generator.service());
  }

  void random_slices_survive_a_round_trip() {
    Generator generator;
    for (int i = 0; i < kObjects; ++i) {
      const model::EndpointSlice slice = generator.slice();
      assert_round_trip(model::ResourceKind::endpoint_slice, slice);
      // Not part of equality.
      const auto back = test::decoded<model::EndpointSlice>(model::ResourceKind::endpoint_slice, encode_object(slice));
      CPPUNIT_ASSERT(back.trigger_time == slice.trigger_time);
    }
  }

  void random_nodes_survive_a_round_trip() {
    Generator generator;
    for (int i = 0; i < kObjects; ++i) assert_round_trip(model::ResourceKind::node, generator.node());
  }

  void random_service_cidrs_survive_a_round_trip() {
    Generator generator;
    for (int i = 0; i < kObjects; ++i) assert_round_trip(model::ResourceKind::service_cidr, generator.service_cidr());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":)"
                                     R"({"name":"a"},"spec":{"cidrs":["10.0.0.0/24"]}})"),
                         encode_object(model::ServiceCidr{"a", {IpPrefix::parse("10.0.0.0/24").value()}}));
  }

  void a_service_reads_as_kubernetes_writes_it() {
    model::Service service;
    service.name = {Symbol("demo"), "web"};
    service.type = model::ServiceType::load_balancer;
    service.cluster_ips = {IpAddress::parse("172.30.0.1").value(), IpAddress::parse("fd00::1").value()};
    service.ports = {{Symbol("http"), model::Protocol::tcp, 80, 30080}};
    service.affinity_seconds = 60;
    service.source_ranges = {IpPrefix::parse("10.0.0.0/8").value()};
    service.load_balancer_ips = {IpAddress::parse("192.0.2.1").value()};
    service.external_local = true;
    service.health_check_node_port = 31000;
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"demo"},"spec":{)"
            R"("type":"LoadBalancer","clusterIP":"172.30.0.1","clusterIPs":["172.30.0.1","fd00::1"],)"
            R"("ports":[{"name":"http","protocol":"TCP","port":80,"nodePort":30080}],"sessionAffinity":"ClientIP",)"
            R"("sessionAffinityConfig":{"clientIP":{"timeoutSeconds":60}},"loadBalancerSourceRanges":["10.0.0.0/8"],)"
            R"("externalTrafficPolicy":"Local","healthCheckNodePort":31000},)"
            R"("status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1","ipMode":"VIP"}]}}})"),
        encode_object(service));
  }

  void a_slice_reads_as_kubernetes_writes_it() {
    model::EndpointSlice slice;
    slice.name = {Symbol("demo"), "web-1"};
    slice.service = {Symbol("demo"), "web"};
    slice.ports = {{Symbol(), model::Protocol::udp, 53}};
    model::SliceEndpoint endpoint;
    endpoint.address = IpAddress::parse("10.1.0.1").value().bytes();
    endpoint.node = Symbol("node-1");
    endpoint.zone_hints = model::pack_names({"b", "a"});
    slice.endpoints = {endpoint};
    slice.trigger_time = lib::parse_rfc3339("2026-11-21T06:00:00Z");
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            R"({"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"web-1","namespace":"demo",)"
            R"("labels":{"kubernetes.io/service-name":"web"},)"
            R"("annotations":{"endpoints.kubernetes.io/last-change-trigger-time":"2026-11-21T06:00:00Z"}},)"
            R"("addressType":"IPv4","ports":[{"name":"","protocol":"UDP","port":53}],)"
            R"("endpoints":[{"addresses":["10.1.0.1"],"conditions":{"ready":true},"nodeName":"node-1",)"
            R"("hints":{"forZones":[{"name":"a"},{"name":"b"}]}}]})"),
        encode_object(slice));
  }

  void a_node_reads_as_kubernetes_writes_it() {
    model::Node node;
    node.name = "node-1";
    node.zone = "a";
    node.internal_ips = {IpAddress::parse("192.0.2.1").value()};
    node.pod_cidrs = {IpPrefix::parse("10.1.0.0/24").value()};
    node.leaving = true;
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1",)"
                    R"("labels":{"topology.kubernetes.io/zone":"a"}},"spec":{"podCIDRs":["10.1.0.0/24"],)"
                    R"("taints":[{"key":"ToBeDeletedByClusterAutoscaler","effect":"NoSchedule"}]},)"
                    R"("status":{"addresses":[{"type":"InternalIP","address":"192.0.2.1"}]}})"),
        encode_object(node));
  }

  void a_reference_has_only_metadata() {
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"demo"}})"),
        encode_reference(model::ResourceKind::service, {Symbol("demo"), "web"}));
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1"}})"),
                         encode_reference(model::ResourceKind::node, {Symbol(), "node-1"}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(EncodeTest);

}  // namespace encode_test
}  // namespace sluice::kube
