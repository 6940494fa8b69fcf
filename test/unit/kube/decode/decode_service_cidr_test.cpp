// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/kube/decoding.hpp"

namespace sluice::kube {
namespace decode_service_cidr_test {

using model::ResourceKind;

std::string ranges(const model::ServiceCidr& object) {
  std::string out;
  for (const auto& cidr : object.cidrs) out += (out.empty() ? "" : " ") + cidr.to_string();
  return out;
}

class DecodeServiceCidrTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DecodeServiceCidrTest);
  CPPUNIT_TEST(both_families_are_read);
  CPPUNIT_TEST(a_service_cidr_counts_while_it_is_being_deleted);
  CPPUNIT_TEST(invalid_ranges_are_ignored_with_a_note);
  CPPUNIT_TEST(a_service_cidr_may_have_no_ranges);
  CPPUNIT_TEST(wrong_types_are_errors_with_their_field);
  CPPUNIT_TEST_SUITE_END();

  void both_families_are_read() {
    const auto object = test::decoded<model::ServiceCidr>(
        ResourceKind::service_cidr,
        R"({"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"kubernetes"},)"
        R"("spec":{"cidrs":["172.30.0.0/16","fd00:30::/112"]}})");
    CPPUNIT_ASSERT_EQUAL(std::string("kubernetes"), object.name);
    CPPUNIT_ASSERT_EQUAL(std::string("172.30.0.0/16 fd00:30::/112"), ranges(object));
  }

  void a_service_cidr_counts_while_it_is_being_deleted() {
    const auto object = test::decoded<model::ServiceCidr>(
        ResourceKind::service_cidr,
        R"({"metadata":{"name":"more","deletionTimestamp":"2026-11-21T06:00:00Z","finalizers":["x"]},)"
        R"("spec":{"cidrs":["10.0.0.0/24"]},"status":{"conditions":[{"type":"Ready","status":"False"}]}})");
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.0/24"), ranges(object));
  }

  void invalid_ranges_are_ignored_with_a_note() {
    const auto decoded = test::decode(
        ResourceKind::service_cidr,
        R"({"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.1","10.1.2.3/16","0.0.0.0/0","::/0","","10.0.0.0/33"]}})");
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.0.0/16"),
                         ranges(std::get<model::ServiceCidr>(std::get<Object>(decoded.result))));
    CPPUNIT_ASSERT_EQUAL(std::size_t(5), decoded.notes.size());
    CPPUNIT_ASSERT_EQUAL(std::string("spec.cidrs[0]: \"10.0.0.1\" is not an IP prefix; ignored"), decoded.notes[0]);
    CPPUNIT_ASSERT_EQUAL(std::string("spec.cidrs[2]: \"0.0.0.0/0\" contains every address; ignored"), decoded.notes[1]);
  }

  void a_service_cidr_may_have_no_ranges() {
    for (const char* spec : {R"({"metadata":{"name":"a"}})", R"({"metadata":{"name":"a"},"spec":{"cidrs":null}})"}) {
      CPPUNIT_ASSERT(test::decoded<model::ServiceCidr>(ResourceKind::service_cidr, spec).cidrs.empty());
    }
  }

  void wrong_types_are_errors_with_their_field() {
    const auto outcome = [](const std::string& json) {
      return test::outcome(test::decode(ResourceKind::service_cidr, json));
    };
    CPPUNIT_ASSERT_EQUAL(std::string("spec.cidrs: is a text, not a list"),
                         outcome(R"({"metadata":{"name":"a"},"spec":{"cidrs":"10.0.0.0/8"}})"));
    CPPUNIT_ASSERT_EQUAL(std::string("spec.cidrs[0]: is a number, not a text"),
                         outcome(R"({"metadata":{"name":"a"},"spec":{"cidrs":[5]}})"));
    CPPUNIT_ASSERT_EQUAL(std::string("metadata.name: is missing"), outcome(R"({"spec":{"cidrs":["10.0.0.0/8"]}})"));
    CPPUNIT_ASSERT_EQUAL(std::string("kind: Node"), outcome(R"({"kind":"Node","metadata":{"name":"a"}})"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DecodeServiceCidrTest);

}  // namespace decode_service_cidr_test
}  // namespace sluice::kube
