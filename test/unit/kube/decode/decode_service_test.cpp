// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/kube/decoding.hpp"

namespace sluice::kube {
namespace decode_service_test {

using test::decode_service;
using test::service_problem;

std::string addresses(const std::vector<lib::IpAddress>& list) {
  std::string out;
  for (const auto& address : list) out += (out.empty() ? "" : " ") + address.to_string();
  return out;
}

class DecodeServiceTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DecodeServiceTest);
  CPPUNIT_TEST(identity_and_version_are_read);
  CPPUNIT_TEST(ports_have_defaults_and_keep_their_order);
  CPPUNIT_TEST(one_name_with_two_protocols_is_two_ports);
  CPPUNIT_TEST(bad_ports_are_errors_with_their_field);
  CPPUNIT_TEST(duplicate_ports_are_errors);
  CPPUNIT_TEST(families_choose_the_cluster_ips);
  CPPUNIT_TEST(old_servers_give_a_single_cluster_ip);
  CPPUNIT_TEST(either_field_can_make_a_service_headless);
  CPPUNIT_TEST(bad_cluster_ips_are_errors);
  CPPUNIT_TEST(an_external_name_service_needs_no_other_fields);
  CPPUNIT_TEST(padded_octets_are_decimal);
  CPPUNIT_TEST(invalid_external_and_ingress_ips_are_ignored_with_a_note);
  CPPUNIT_TEST(special_external_and_ingress_ips_are_ignored_with_a_note);
  CPPUNIT_TEST(a_special_cluster_ip_makes_the_service_unusable);
  CPPUNIT_TEST(the_time_of_creation_is_read);
  CPPUNIT_TEST(ingress_without_ip_or_in_proxy_mode_is_skipped);
  CPPUNIT_TEST(source_ranges_are_trimmed_and_strict);
  CPPUNIT_TEST(affinity_has_a_default_and_a_range);
  CPPUNIT_TEST(policies_are_read_and_unknown_ones_are_cluster);
  CPPUNIT_TEST(nulls_are_absent);
  CPPUNIT_TEST(the_last_of_duplicate_keys_counts);
  CPPUNIT_TEST(unknown_fields_change_nothing);
  CPPUNIT_TEST(invalid_object_names_are_rejected);
  CPPUNIT_TEST(another_kind_is_detected);
  CPPUNIT_TEST_SUITE_END();

  void identity_and_version_are_read() {
    const auto decoded = test::decode(model::ResourceKind::service, test::service_json(""));
    CPPUNIT_ASSERT_EQUAL(std::string("demo/web"), decoded.name.to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("7"), decoded.resource_version);
    CPPUNIT_ASSERT(decode_service("").type == model::ServiceType::cluster_ip);
    CPPUNIT_ASSERT(decode_service(R"("type":"NodePort")").type == model::ServiceType::node_port);
    CPPUNIT_ASSERT(decode_service(R"("type":"LoadBalancer")").type == model::ServiceType::load_balancer);
    CPPUNIT_ASSERT_EQUAL(
        std::string("spec.type: \"Odd\" is not a type of Service (ClusterIP, NodePort, LoadBalancer, ExternalName)"),
        service_problem(R"("type":"Odd")"));
  }

  void ports_have_defaults_and_keep_their_order() {
    const auto service = decode_service(
        R"("ports":[{"name":"b","port":443,"nodePort":30443},{"name":"a","port":53,"protocol":"UDP","nodePort":0,
           "targetPort":"dns","appProtocol":"x"},{"name":"c","port":1,"protocol":""}])");
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), service.ports.size());
    CPPUNIT_ASSERT_EQUAL(std::string("b"), std::string(service.ports[0].name.text()));
    CPPUNIT_ASSERT(service.ports[0].protocol == model::Protocol::tcp);
    CPPUNIT_ASSERT_EQUAL(30443, int(service.ports[0].node_port));
    CPPUNIT_ASSERT(service.ports[1].protocol == model::Protocol::udp);
    CPPUNIT_ASSERT_EQUAL(0, int(service.ports[1].node_port));
    CPPUNIT_ASSERT(service.ports[2].protocol == model::Protocol::tcp);
  }

  void one_name_with_two_protocols_is_two_ports() {
    const auto service = decode_service(
        R"("ports":[{"name":"dns","port":53,"protocol":"TCP"},{"name":"dns","port":53,"protocol":"UDP"}])");
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), service.ports.size());
  }

  void bad_ports_are_errors_with_their_field() {
    const auto problem = [](const std::string& port) {
      return service_problem(R"("ports":[{"name":"x","port":1},)" + port + "]");
    };
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].port: 0 is not a port (1-65535)"),
                         problem(R"({"name":"y","port":0})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].port: 65536 is not a port (1-65535)"),
                         problem(R"({"name":"y","port":65536})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].port: -1 is not a port (1-65535)"),
                         problem(R"({"name":"y","port":-1})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].port: is missing"), problem(R"({"name":"y"})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].port: is a text, not a whole number"),
                         problem(R"({"name":"y","port":"80"})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].port: is a number, not a whole number"),
                         problem(R"({"name":"y","port":80.5})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].port: the number is too large"),
                         problem(R"({"name":"y","port":18446744073709551615})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].nodePort: 70000 is not a port (1-65535)"),
                         problem(R"({"name":"y","port":80,"nodePort":70000})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].protocol: \"tcp\" is not a protocol (TCP, UDP, SCTP)"),
                         problem(R"({"name":"y","port":80,"protocol":"tcp"})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].name: \"a b\\x0a\" is not the name of a port"),
                         problem(R"({"name":"a b\n","port":80})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1]: is a number, not an object"), problem("5"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports: is an object, not a list"), service_problem(R"("ports":{})"));
  }

  void duplicate_ports_are_errors() {
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].port: 80 occurs twice for the same protocol"),
                         service_problem(R"("ports":[{"name":"a","port":80},{"name":"b","port":80}])"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].name: \"a\" occurs twice for the same protocol"),
                         service_problem(R"("ports":[{"name":"a","port":80},{"name":"a","port":81}])"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ports[1].name: is missing; with several ports each needs a name"),
                         service_problem(R"("ports":[{"port":80},{"port":81}])"));
  }

  void families_choose_the_cluster_ips() {  // BEH 2.2, case 83
    const auto both =
        decode_service(R"("clusterIP":"fd00::1","clusterIPs":["fd00::1","10.0.0.1"],"ipFamilies":["IPv6","IPv4"])");
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::1 10.0.0.1"), addresses(both.cluster_ips));
    // An address without an entry in ipFamilies is not used.
    const auto one =
        decode_service(R"("clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1","fd00::1"],"ipFamilies":["IPv4"])");
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1"), addresses(one.cluster_ips));
    const auto missing =
        decode_service(R"("clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4","IPv6"])");
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1"), addresses(missing.cluster_ips));
  }

  void old_servers_give_a_single_cluster_ip() {
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1"), addresses(decode_service(R"("clusterIP":"10.0.0.1")").cluster_ips));
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::1"), addresses(decode_service(R"("clusterIP":"fd00::1")").cluster_ips));
    CPPUNIT_ASSERT(decode_service(R"("clusterIP":"")").cluster_ips.empty());
    CPPUNIT_ASSERT(!decode_service("").headless);
  }

  void either_field_can_make_a_service_headless() {
    const auto both = decode_service(R"("clusterIP":"None","clusterIPs":["None"],"ipFamilies":["IPv4","IPv6"])");
    CPPUNIT_ASSERT(both.headless);
    CPPUNIT_ASSERT(both.cluster_ips.empty());
    CPPUNIT_ASSERT(decode_service(R"("clusterIP":"None")").headless);
    CPPUNIT_ASSERT(decode_service(R"("clusterIPs":["None"])").headless);
  }

  void bad_cluster_ips_are_errors() {
    CPPUNIT_ASSERT_EQUAL(std::string("spec.clusterIP: \"10.0.0\" is not an IP address"),
                         service_problem(R"("clusterIP":"10.0.0")"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.clusterIPs[0]: \"none\" is not an IP address"),
                         service_problem(R"("clusterIPs":["none"])"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("spec.clusterIPs[0]: fd00::1 is not an IPv4 address, as spec.ipFamilies says at the same place"),
        service_problem(R"("clusterIPs":["fd00::1"],"ipFamilies":["IPv4"])"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("spec.clusterIPs[1]: a second IPv4 address; a Service has at most one of each family"),
        service_problem(R"("clusterIPs":["10.0.0.1","10.0.0.2"])"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.ipFamilies[0]: \"IPv5\" is not an IP family (IPv4, IPv6)"),
                         service_problem(R"("ipFamilies":["IPv5"])"));
  }

  void an_external_name_service_needs_no_other_fields() {
    const auto service = decode_service(R"("type":"ExternalName","externalName":"example.org","ports":[{"port":0}])");
    CPPUNIT_ASSERT(service.type == model::ServiceType::external_name);
    CPPUNIT_ASSERT(service.ports.empty());
  }

  void padded_octets_are_decimal() {
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.2.3"),
                         addresses(decode_service(R"("clusterIP":"010.001.02.3")").cluster_ips));
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3.0/24"),
                         decode_service(R"("loadBalancerSourceRanges":["1.2.3.4/24"])").source_ranges[0].to_string());
  }

  void invalid_external_and_ingress_ips_are_ignored_with_a_note() {
    const auto decoded =
        test::decode(model::ResourceKind::service,
                     test::service_json(R"("externalIPs":["1.2.3.4","example.org","fd00::5"])",
                                        R"({"loadBalancer":{"ingress":[{"ip":"x"},{"ip":"5.6.7.8"}]}})"));
    const auto& service = std::get<model::Service>(std::get<Object>(decoded.result));
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3.4 fd00::5"), addresses(service.external_ips));
    CPPUNIT_ASSERT_EQUAL(std::string("5.6.7.8"), addresses(service.load_balancer_ips));
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), decoded.notes.size());
    CPPUNIT_ASSERT_EQUAL(std::string("spec.externalIPs[1]: \"example.org\" is not an IP address; ignored"),
                         decoded.notes[0]);
    CPPUNIT_ASSERT_EQUAL(std::string("status.loadBalancer.ingress[0].ip: \"x\" is not an IP address; ignored"),
                         decoded.notes[1]);
  }

  void special_external_and_ingress_ips_are_ignored_with_a_note() {
    const auto decoded = test::decode(
        model::ResourceKind::service,
        test::service_json(R"("externalIPs":["127.0.0.1","1.2.3.4","169.254.7.7","ff02::1"])",
                           R"({"loadBalancer":{"ingress":[{"ip":"0.0.0.0"},{"ip":"169.254.7.7"},{"ip":"fe80::7"}]}})"));
    const auto& service = std::get<model::Service>(std::get<Object>(decoded.result));
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3.4"), addresses(service.external_ips));
    // A load balancer may have a link-local address.
    CPPUNIT_ASSERT_EQUAL(std::string("169.254.7.7 fe80::7"), addresses(service.load_balancer_ips));
    CPPUNIT_ASSERT_EQUAL(std::size_t(4), decoded.notes.size());
    CPPUNIT_ASSERT_EQUAL(std::string("spec.externalIPs[0]: \"127.0.0.1\" is a special address (loopback); ignored"),
                         decoded.notes[0]);
    CPPUNIT_ASSERT_EQUAL(
        std::string("status.loadBalancer.ingress[0].ip: \"0.0.0.0\" is a special address (unspecified); ignored"),
        decoded.notes[3]);
  }

  void a_special_cluster_ip_makes_the_service_unusable() {
    for (const char* ip : {"127.0.0.1", "0.0.0.0", "224.0.0.1", "169.254.1.1", "255.255.255.255"}) {
      const std::string text(ip);
      const auto problem =
          service_problem(R"("clusterIP":")" + text + R"(","clusterIPs":[")" + text + R"("],"ports":[{"port":80}])");
      CPPUNIT_ASSERT_MESSAGE(problem, problem.find(text + " is a special address (") != std::string::npos);
    }
  }

  void the_time_of_creation_is_read() {
    const auto created = [](const std::string& member) {
      return test::decoded<model::Service>(model::ResourceKind::service,
                                           R"({"metadata":{"name":"web","namespace":"demo","resourceVersion":"7")" +
                                               member + R"(},"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}})")
          .created;
    };
    CPPUNIT_ASSERT_EQUAL(std::int64_t(1'000'000'000), created(R"(,"creationTimestamp":"2001-09-09T01:46:40Z")"));
    CPPUNIT_ASSERT_EQUAL(std::int64_t(0), created(""));
    CPPUNIT_ASSERT_EQUAL(std::int64_t(0), created(R"(,"creationTimestamp":"yesterday")"));
  }

  void ingress_without_ip_or_in_proxy_mode_is_skipped() {
    const auto service =
        decode_service("", R"({"loadBalancer":{"ingress":[{"hostname":"lb.example"},{"ip":"1.1.1.1","ipMode":"Proxy"},
        {"ip":"2.2.2.2","ipMode":"VIP"},{"ip":"3.3.3.3","ipMode":null},{"ip":"4.4.4.4","ports":[]}]}})");
    CPPUNIT_ASSERT_EQUAL(std::string("2.2.2.2 3.3.3.3 4.4.4.4"), addresses(service.load_balancer_ips));
  }

  void source_ranges_are_trimmed_and_strict() {
    const auto service = decode_service(R"("loadBalancerSourceRanges":[" 10.0.0.0/8\t","0.0.0.0/0","fd00::/64"])");
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), service.source_ranges.size());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.0/8"), service.source_ranges[0].to_string());
    CPPUNIT_ASSERT_EQUAL(0, service.source_ranges[1].length());
    // Ignoring a range could leave an empty list, which allows every client.
    CPPUNIT_ASSERT_EQUAL(
        std::string("spec.loadBalancerSourceRanges[0]: \"10.0.0.0\" is not an IP prefix (such as 192.0.2.0/24)"),
        service_problem(R"("loadBalancerSourceRanges":["10.0.0.0"])"));
  }

  void affinity_has_a_default_and_a_range() {
    CPPUNIT_ASSERT_EQUAL(0u, decode_service(R"("sessionAffinity":"None")").affinity_seconds);
    CPPUNIT_ASSERT_EQUAL(10800u, decode_service(R"("sessionAffinity":"ClientIP")").affinity_seconds);
    CPPUNIT_ASSERT_EQUAL(
        10800u,
        decode_service(R"("sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":null})").affinity_seconds);
    CPPUNIT_ASSERT_EQUAL(
        30u,
        decode_service(R"("sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":30}})")
            .affinity_seconds);
    CPPUNIT_ASSERT_EQUAL(
        std::string("spec.sessionAffinityConfig.clientIP.timeoutSeconds: 0 is not a number of seconds from 1 to 86400"),
        service_problem(R"("sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":0}})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.sessionAffinity: \"Cookie\" is not a session affinity (None, ClientIP)"),
                         service_problem(R"("sessionAffinity":"Cookie")"));
  }

  void policies_are_read_and_unknown_ones_are_cluster() {
    const auto local = decode_service(
        R"("internalTrafficPolicy":"Local","externalTrafficPolicy":"Local","healthCheckNodePort":31000)");
    CPPUNIT_ASSERT(local.internal_local);
    CPPUNIT_ASSERT(local.external_local);
    CPPUNIT_ASSERT_EQUAL(31000, int(local.health_check_node_port));
    const auto decoded =
        test::decode(model::ResourceKind::service, test::service_json(R"("internalTrafficPolicy":"PreferLocal")"));
    CPPUNIT_ASSERT(!std::get<model::Service>(std::get<Object>(decoded.result)).internal_local);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), decoded.notes.size());
  }

  void nulls_are_absent() {
    const auto service = decode_service(
        R"("type":null,"clusterIP":"10.0.0.1","clusterIPs":null,"ipFamilies":null,"ports":null,"externalIPs":null,
           "sessionAffinity":null,"loadBalancerSourceRanges":null,"internalTrafficPolicy":null,
           "healthCheckNodePort":null)",
        "null");
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1"), addresses(service.cluster_ips));
    CPPUNIT_ASSERT(service == decode_service(R"("clusterIP":"10.0.0.1")"));
  }

  void the_last_of_duplicate_keys_counts() {
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.2"),
                         addresses(decode_service(R"("clusterIP":"10.0.0.1","clusterIP":"10.0.0.2")").cluster_ips));
  }

  void unknown_fields_change_nothing() {
    CPPUNIT_ASSERT(decode_service(R"("clusterIP":"10.0.0.1","future":{"a":[1,{"b":null}]},"selector":{"x":"y"})") ==
                   decode_service(R"("clusterIP":"10.0.0.1")"));
  }

  void invalid_object_names_are_rejected() {
    const auto problem = [](const std::string& metadata) {
      return test::outcome(test::decode(model::ResourceKind::service, R"({"metadata":)" + metadata + R"(,"spec":{}})"));
    };
    CPPUNIT_ASSERT_EQUAL(std::string("metadata.name: is missing"), problem(R"({"namespace":"a"})"));
    CPPUNIT_ASSERT_EQUAL(std::string("metadata.namespace: is missing"), problem(R"({"name":"a"})"));
    CPPUNIT_ASSERT_EQUAL(std::string("metadata.name: \"a\\\" -j ACCEPT\" is not the name of an object"),
                         problem(R"({"name":"a\\\" -j ACCEPT","namespace":"a"})"));
    CPPUNIT_ASSERT_EQUAL(std::string("metadata.namespace: \"A\" is not the name of a namespace"),
                         problem(R"({"name":"a","namespace":"A"})"));
    CPPUNIT_ASSERT_EQUAL(std::string("metadata.name: is missing"), problem("null"));
    CPPUNIT_ASSERT_EQUAL(std::string("metadata: is a list, not an object"), problem("[]"));
    CPPUNIT_ASSERT_EQUAL(std::string("ok"), problem(R"({"name":"a.b-c.9","namespace":"n-1"})"));
  }

  void another_kind_is_detected() {
    CPPUNIT_ASSERT_EQUAL(std::string("kind: PartialObjectMetadata"),
                         test::outcome(test::decode(model::ResourceKind::service,
                                                    R"({"kind":"PartialObjectMetadata","metadata":{"name":"a"}})")));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DecodeServiceTest);

}  // namespace decode_service_test
}  // namespace sluice::kube
