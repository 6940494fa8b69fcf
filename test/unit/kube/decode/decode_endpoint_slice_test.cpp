// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "lib/rfc3339.hpp"
#include "test/unit/kube/decoding.hpp"

namespace sluice::kube {
namespace decode_endpoint_slice_test {

using model::ResourceKind;

std::string slice_json(const std::string& members, const std::string& metadata = "") {
  return R"({"metadata":{"name":"web-1","namespace":"demo","labels":{"kubernetes.io/service-name":"web"})" + metadata +
         "}," + members + "}";
}

model::EndpointSlice slice(const std::string& members, const std::string& metadata = "") {
  return test::decoded<model::EndpointSlice>(ResourceKind::endpoint_slice, slice_json(members, metadata));
}

std::string problem(const std::string& members) {
  return test::outcome(test::decode(ResourceKind::endpoint_slice, slice_json(members)));
}

std::string address(const model::EndpointSlice& slice, std::size_t index) {
  return lib::IpAddress::from_bytes(slice.family, slice.endpoints.at(index).address.data()).to_string();
}

class DecodeEndpointSliceTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DecodeEndpointSliceTest);
  CPPUNIT_TEST(a_complete_slice_is_decoded);
  CPPUNIT_TEST(conditions_default_to_ready_and_serving);
  CPPUNIT_TEST(ports_without_name_or_number_are_skipped);
  CPPUNIT_TEST(a_port_with_an_unknown_protocol_is_ignored);
  CPPUNIT_TEST(endpoints_without_a_valid_address_are_ignored);
  CPPUNIT_TEST(slices_that_a_proxy_does_not_need_are_ignored);
  CPPUNIT_TEST(nulls_are_empty_lists);
  CPPUNIT_TEST(hints_are_sets_of_names);
  CPPUNIT_TEST(invalid_trigger_times_are_ignored);
  CPPUNIT_TEST(the_trigger_time_is_not_part_of_equality);
  CPPUNIT_TEST(wrong_types_are_errors);
  CPPUNIT_TEST(server_defaults_are_applied_to_manifests);
  CPPUNIT_TEST_SUITE_END();

  void a_complete_slice_is_decoded() {
    const auto got = slice(R"("addressType":"IPv6","ports":[{"name":"http","port":8080,"protocol":"TCP"}],
        "endpoints":[{"addresses":["fd00::1","fd00::2"],"conditions":{"ready":false,"serving":true,"terminating":true},
        "nodeName":"node-a","zone":"z","hints":{"forZones":[{"name":"zone-a"}],"forNodes":[{"name":"node-a"}]}}])");
    CPPUNIT_ASSERT_EQUAL(std::string("demo/web-1"), got.name.to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("demo/web"), got.service.to_string());
    CPPUNIT_ASSERT(got.family == lib::Family::ipv6);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), got.endpoints.size());
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::1"), address(got, 0));
    CPPUNIT_ASSERT(!got.endpoints[0].ready && got.endpoints[0].serving && got.endpoints[0].terminating);
    CPPUNIT_ASSERT_EQUAL(std::string("node-a"), std::string(got.endpoints[0].node.text()));
    CPPUNIT_ASSERT(model::packed_contains(got.endpoints[0].zone_hints, "zone-a"));
    CPPUNIT_ASSERT(model::packed_contains(got.endpoints[0].node_hints, "node-a"));
    CPPUNIT_ASSERT_EQUAL(8080, int(got.ports.at(0).port));
  }

  void conditions_default_to_ready_and_serving() {
    for (const char* conditions : {"", R"(,"conditions":{})", R"(,"conditions":null)",
                                   R"(,"conditions":{"ready":null,"serving":null,"terminating":null})"}) {
      const auto got =
          slice(std::string(R"("addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"])") + conditions + "}]");
      CPPUNIT_ASSERT(got.endpoints.at(0).ready && got.endpoints[0].serving && !got.endpoints[0].terminating);
      CPPUNIT_ASSERT(got.endpoints[0].node.empty());
    }
  }

  void ports_without_name_or_number_are_skipped() {  // BEH case 84
    const auto got =
        slice(R"("addressType":"IPv4","ports":[{"port":80},{"name":"a","port":null},{"name":"b","port":0},{"name":"c"},
        {"name":"","port":81},{"name":null,"port":82},{"name":"d","port":83,"protocol":"UDP"}])");
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), got.ports.size());
    CPPUNIT_ASSERT(got.ports[0].name.empty());
    CPPUNIT_ASSERT_EQUAL(81, int(got.ports[0].port));
    CPPUNIT_ASSERT(got.ports[1].protocol == model::Protocol::udp);
    CPPUNIT_ASSERT_EQUAL(std::string("ports[0].port: 65536 is not a port (1-65535)"),
                         problem(R"("addressType":"IPv4","ports":[{"name":"a","port":65536}])"));
  }

  void a_port_with_an_unknown_protocol_is_ignored() {
    const auto decoded = test::decode(
        ResourceKind::endpoint_slice,
        slice_json(R"("addressType":"IPv4","ports":[{"name":"q","port":1,"protocol":"QUIC"},{"name":"t","port":2}])"));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), std::get<model::EndpointSlice>(std::get<Object>(decoded.result)).ports.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("ports[0].protocol: \"QUIC\" is not a protocol (TCP, UDP, SCTP); the port is ignored"),
        decoded.notes.at(0));
  }

  void endpoints_without_a_valid_address_are_ignored() {
    const auto decoded = test::decode(
        ResourceKind::endpoint_slice,
        slice_json(
            R"("addressType":"IPv4","endpoints":[{"addresses":[]},{"addresses":null},{},{"addresses":["10.0.0.300"]},
            {"addresses":["fd00::1"]},{"addresses":["127.0.0.1"]},{"addresses":["224.0.0.1"]},
            {"addresses":["10.0.0.7"]}])"));
    const auto& got = std::get<model::EndpointSlice>(std::get<Object>(decoded.result));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), got.endpoints.size());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.7"), address(got, 0));
    CPPUNIT_ASSERT_EQUAL(std::size_t(4), decoded.notes.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("endpoints[3].addresses[0]: \"10.0.0.300\" is not an IPv4 address; the endpoint is ignored"),
        decoded.notes[0]);
    CPPUNIT_ASSERT_EQUAL(
        std::string("endpoints[4].addresses[0]: \"fd00::1\" is not an IPv4 address; the endpoint is ignored"),
        decoded.notes[1]);
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "endpoints[5].addresses[0]: \"127.0.0.1\" is a special address (loopback); the endpoint is ignored"),
        decoded.notes[2]);
  }

  void slices_that_a_proxy_does_not_need_are_ignored() {
    const auto document_problem = [](const std::string& json) {
      return test::outcome(test::decode(ResourceKind::endpoint_slice, json));
    };
    CPPUNIT_ASSERT_EQUAL(std::string("ignored: its addressType is \"FQDN\""),
                         document_problem(slice_json(R"("addressType":"FQDN")")));
    CPPUNIT_ASSERT_EQUAL(std::string("ignored: it has no label kubernetes.io/service-name"),
                         document_problem(R"({"metadata":{"name":"a","namespace":"b"},"addressType":"IPv4"})"));
    CPPUNIT_ASSERT_EQUAL(std::string("ignored: it has no label kubernetes.io/service-name"),
                         document_problem(
                             R"({"metadata":{"name":"a","namespace":"b","labels":{"kubernetes.io/service-name":""}},
                "addressType":"IPv4"})"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("metadata.labels[kubernetes.io/service-name]: \"a b\" is not the name of a Service"),
        document_problem(
            R"({"metadata":{"name":"a","namespace":"b","labels":{"kubernetes.io/service-name":"a b"}},
                "addressType":"IPv4"})"));
    CPPUNIT_ASSERT_EQUAL(std::string("addressType: is missing (IPv4, IPv6)"), problem(R"("addressType":"")"));
  }

  void nulls_are_empty_lists() {
    const auto got = slice(R"("addressType":"IPv4","endpoints":null,"ports":null)", R"(,"annotations":null)");
    CPPUNIT_ASSERT(got.endpoints.empty());
    CPPUNIT_ASSERT(got.ports.empty());
  }

  void hints_are_sets_of_names() {
    const auto got = slice(
        R"("addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"],
        "hints":{"forZones":[{"name":"b"},{"name":"a"},{"name":""}]}},
        {"addresses":["10.0.0.2"],"hints":{"forZones":[{"name":"a"},{"name":"b"}],"forNodes":null}},
        {"addresses":["10.0.0.3"],"hints":{}}])");
    CPPUNIT_ASSERT(got.endpoints[0].zone_hints == got.endpoints[1].zone_hints);
    CPPUNIT_ASSERT(got.endpoints[2].zone_hints.empty());
  }

  void invalid_trigger_times_are_ignored() {  // BEH case 92
    const auto with = [](const std::string& time) {
      return slice(R"("addressType":"IPv4")",
                   R"(,"annotations":{"endpoints.kubernetes.io/last-change-trigger-time":")" + time + R"("})")
          .trigger_time;
    };
    CPPUNIT_ASSERT(with("2026-11-21T00:11:20Z").has_value());
    CPPUNIT_ASSERT(*with("2026-11-21T01:11:20.5+01:00") - *with("2026-11-21T00:11:20Z") ==
                   std::chrono::milliseconds(500));
    CPPUNIT_ASSERT(*with("2026-11-21T00:11:20.123456789Z") - *with("2026-11-21T00:11:20Z") ==
                   std::chrono::nanoseconds(123456789));
    CPPUNIT_ASSERT(*lib::parse_rfc3339("1970-01-01T00:00:01Z") ==
                   std::chrono::system_clock::time_point(std::chrono::seconds(1)));
    for (const char* bad : {"", "yesterday", "2026-11-21", "2026-11-21T00:11:20", "2026-13-01T00:00:00Z",
                            "2026-02-30T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T00:11:20.Z",
                            "2026-11-21T00:11:20Zx", "2026-11-21T00:11:20+0100", "9999-01-01T00:00:00Z"}) {
      CPPUNIT_ASSERT_MESSAGE(bad, !with(bad));
    }
  }

  void the_trigger_time_is_not_part_of_equality() {
    CPPUNIT_ASSERT(
        slice(R"("addressType":"IPv4")") ==
        slice(R"("addressType":"IPv4")",
              R"(,"annotations":{"endpoints.kubernetes.io/last-change-trigger-time":"2026-11-21T00:11:20Z"})"));
  }

  void wrong_types_are_errors() {
    CPPUNIT_ASSERT_EQUAL(std::string("endpoints: is a text, not a list"),
                         problem(R"("addressType":"IPv4","endpoints":"x")"));
    CPPUNIT_ASSERT_EQUAL(
        std::string("endpoints[0].conditions.ready: is a text, not true or false"),
        problem(R"("addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"],"conditions":{"ready":"true"}}])"));
    CPPUNIT_ASSERT_EQUAL(std::string("endpoints[0].nodeName: is a number, not a text"),
                         problem(R"("addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"],"nodeName":3}])"));
  }

  void server_defaults_are_applied_to_manifests() {
    const auto got =
        test::decoded<model::EndpointSlice>(ResourceKind::endpoint_slice,
                                            R"({"metadata":{"name":"a","labels":{"kubernetes.io/service-name":"web"}},
                "addressType":"IPv4","ports":[{"port":80}]})",
                                            true);
    CPPUNIT_ASSERT_EQUAL(std::string("default/web"), got.service.to_string());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), got.ports.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DecodeEndpointSliceTest);

}  // namespace decode_endpoint_slice_test
}  // namespace sluice::kube
