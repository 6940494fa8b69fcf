// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/kube/decoding.hpp"
#include "test/unit/kube/recorded.hpp"

namespace sluice::kube {
namespace decode_endpoints_test {

using model::ResourceKind;

Decoded decode(const std::string& subsets, const std::string& metadata = "") {
  return Decoder({.endpoints = true})
      .object(ResourceKind::endpoint_slice, R"({"kind":"Endpoints","metadata":{"name":"web","namespace":"demo")" +
                                                metadata + R"(},"subsets":)" + subsets + "}");
}

std::vector<model::EndpointSlice> slices(const std::string& subsets, const std::string& metadata = "") {
  const Decoded decoded = decode(subsets, metadata);
  CPPUNIT_ASSERT_EQUAL(std::string("ok"), test::outcome(decoded));
  return std::get<Slices>(decoded.result).slices;
}

std::string address(const model::EndpointSlice& slice, std::size_t index) {
  return lib::IpAddress::from_bytes(slice.family, slice.endpoints.at(index).address.data()).to_string();
}

class DecodeEndpointsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DecodeEndpointsTest);
  CPPUNIT_TEST(a_subset_is_a_slice);
  CPPUNIT_TEST(families_become_separate_slices);
  CPPUNIT_TEST(subsets_keep_their_own_ports);
  CPPUNIT_TEST(ports_are_known_by_name);
  CPPUNIT_TEST(empty_endpoints_make_no_slices);
  CPPUNIT_TEST(invalid_parts_are_ignored);
  CPPUNIT_TEST(wrong_types_are_errors);
  CPPUNIT_TEST(other_annotations_are_ignored);
  CPPUNIT_TEST(a_recorded_list_is_decoded);
  CPPUNIT_TEST(other_kinds_are_detected);
  CPPUNIT_TEST_SUITE_END();

  void a_subset_is_a_slice() {
    const auto got = slices(
        R"([{"addresses":[{"ip":"10.0.0.1","nodeName":"node-a","targetRef":{"kind":"Pod"}},
        {"ip":"010.0.0.2"}],"notReadyAddresses":[{"ip":"10.0.0.3"}],"ports":[{"name":"http","port":8080}]}])");
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), got.size());
    const auto& slice = got[0];
    CPPUNIT_ASSERT_EQUAL(std::string("demo/web"), slice.service.to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("demo/web-ipv4-0"), slice.name.to_string());
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), slice.endpoints.size());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1"), address(slice, 0));
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.2"), address(slice, 1));
    CPPUNIT_ASSERT_EQUAL(std::string_view("node-a"), slice.endpoints[0].node.text());
    CPPUNIT_ASSERT(slice.endpoints[1].node.empty());
    CPPUNIT_ASSERT(slice.endpoints[0].ready && slice.endpoints[1].ready && !slice.endpoints[2].ready);
    CPPUNIT_ASSERT(!slice.endpoints[2].serving && !slice.endpoints[2].terminating);
  }

  void families_become_separate_slices() {
    const auto got = slices(R"([{"addresses":[{"ip":"fd00::1"},{"ip":"10.0.0.1"}],
        "notReadyAddresses":[{"ip":"fd00::2"}],"ports":[{"port":80}]}])");
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), got.size());
    CPPUNIT_ASSERT(got[0].family == lib::Family::ipv4 && got[1].family == lib::Family::ipv6);
    CPPUNIT_ASSERT_EQUAL(std::string("demo/web-ipv6-0"), got[1].name.to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::1"), address(got[1], 0));
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::2"), address(got[1], 1));
    CPPUNIT_ASSERT(got[0].ports == got[1].ports);
  }

  void subsets_keep_their_own_ports() {
    const auto got = slices(
        R"([{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"name":"a","port":1}]},
        {"addresses":[{"ip":"fd00::1"}],"ports":[{"name":"a","port":2}]},
        {"notReadyAddresses":[{"ip":"10.0.0.1"}],"ports":[{"name":"b","port":3}]}])");
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), got.size());
    CPPUNIT_ASSERT_EQUAL(std::string("web-ipv4-0"), got[0].name.name);
    CPPUNIT_ASSERT_EQUAL(std::string("web-ipv6-0"), got[1].name.name);
    CPPUNIT_ASSERT_EQUAL(std::string("web-ipv4-1"), got[2].name.name);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t(3), got[2].ports.at(0).port);
    CPPUNIT_ASSERT(!got[2].endpoints.at(0).ready);
  }

  void ports_are_known_by_name() {
    const auto got = slices(R"([{"addresses":[{"ip":"10.0.0.1"}],
        "ports":[{"port":80},{"name":"dns","port":53,"protocol":"UDP"},{"name":"x"}]}])");
    const auto& ports = got.at(0).ports;
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), ports.size());
    CPPUNIT_ASSERT(ports[0].name.empty() && ports[0].protocol == model::Protocol::tcp);
    CPPUNIT_ASSERT(ports[1].name.text() == "dns" && ports[1].protocol == model::Protocol::udp);
  }

  void empty_endpoints_make_no_slices() {
    for (const char* subsets :
         {"null", "[]", "[{}]", R"([{"ports":[{"port":80}]}])", R"([{"addresses":[{"ip":"10.0.0.1"}]}])",
          R"([{"addresses":[],"ports":[{"port":80}]}])"}) {
      CPPUNIT_ASSERT_MESSAGE(subsets, slices(subsets).empty());
    }
  }

  void invalid_parts_are_ignored() {
    const Decoded decoded = decode(R"([{"addresses":[{"ip":"10.0.0.x"},{"ip":"10.0.0.1"}],
        "ports":[{"name":"A B","port":1},{"name":"a","port":2,"protocol":"ICMP"},{"name":"b","port":3}]}])");
    const auto& got = std::get<Slices>(decoded.result).slices;
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), got.at(0).endpoints.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), got.at(0).ports.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), decoded.notes.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("subsets[0].addresses[0].ip: \"10.0.0.x\" is not an address; the endpoint is ignored"),
        decoded.notes[2]);
  }

  void wrong_types_are_errors() {
    CPPUNIT_ASSERT_EQUAL(std::string("subsets[0].addresses[0].ip: is a number, not a text"),
                         test::outcome(decode(R"([{"addresses":[{"ip":5}],"ports":[{"port":80}]}])")));
    CPPUNIT_ASSERT_EQUAL(std::string("subsets[0].ports[0].port: 70000 is not a port (1-65535)"),
                         test::outcome(decode(R"([{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":70000}]}])")));
    CPPUNIT_ASSERT_EQUAL(std::string("subsets: is an object, not a list"), test::outcome(decode("{}")));
  }

  void other_annotations_are_ignored() {
    const auto got = slices(R"([{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80}]}])",
                            R"(,"annotations":{"endpoints.kubernetes.io/over-capacity":"truncated",
        "endpoints.kubernetes.io/last-change-trigger-time":"2026-11-21T00:11:20Z"})");
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), got.size());
    CPPUNIT_ASSERT(got[0].trigger_time.has_value());
  }

  void a_recorded_list_is_decoded() {
    Decoder decoder({.endpoints = true});
    const auto envelope = decoder.list_envelope(test::recorded("list-endpoints-legacy").body);
    CPPUNIT_ASSERT_EQUAL(std::string(decoder.kind_name(ResourceKind::endpoint_slice)) + "List", envelope->kind);
  }

  void other_kinds_are_detected() {
    const std::string slice = R"({"kind":"EndpointSlice","metadata":{"name":"a","namespace":"b"}})";
    CPPUNIT_ASSERT_EQUAL(std::string("kind: EndpointSlice"),
                         test::outcome(Decoder({.endpoints = true}).object(ResourceKind::endpoint_slice, slice)));
    CPPUNIT_ASSERT_EQUAL(
        std::string("kind: Endpoints"),
        test::outcome(Decoder().object(ResourceKind::endpoint_slice,
                                       R"({"kind":"Endpoints","metadata":{"name":"a","namespace":"b"}})")));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DecodeEndpointsTest);

}  // namespace decode_endpoints_test
}  // namespace sluice::kube
