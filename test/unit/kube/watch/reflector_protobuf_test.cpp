// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists, watches and errors in protobuf. test/unit/kube/decode/protobuf_to_json_test.cpp compares recorded ones with JSON.

#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/kube/protobuf_bytes.hpp"
#include "test/unit/kube/watch/reflector_world.hpp"

namespace sluice::kube {
namespace reflector_protobuf_test {

using test::pb_bytes;
using test::pb_number;
using test::ReflectorWorld;

const std::string kType = "application/vnd.kubernetes.protobuf";
const std::string kStream = kType + ";stream=watch";

std::string list(const std::string& items, const std::string& token = "") {
  return test::pb_unknown("ServiceList", pb_bytes(1, test::pb_list_meta("10", token)) + items);
}

std::string item(const std::string& name) { return pb_bytes(2, test::pb_service(name)); }

std::string event(const std::string& type, const std::string& kind, const std::string& object) {
  return test::pb_frame(test::pb_event(type, test::pb_unknown(kind, object)));
}

class ReflectorProtobufTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReflectorProtobufTest);
  CPPUNIT_TEST(lists_and_watches_ask_for_protobuf_and_discovery_for_json);
  CPPUNIT_TEST(a_list_has_pages_and_a_watch_follows);
  CPPUNIT_TEST(a_streaming_list_ends_with_its_bookmark);
  CPPUNIT_TEST(errors_are_statuses_in_protobuf);
  CPPUNIT_TEST(an_object_that_is_too_large_or_malformed_is_named);
  CPPUNIT_TEST(a_body_that_is_no_protobuf_is_an_error);
  CPPUNIT_TEST(a_list_of_another_kind_is_an_error);
  CPPUNIT_TEST_SUITE_END();

  static long answer(ReflectorWorld& world, const std::string& body, const std::string& type = kType, int status = 200) {
    world.transport.expect({.status = status, .body = body, .lasts = std::chrono::seconds(300), .content_type = type});
    return world.step();
  }

  void lists_and_watches_ask_for_protobuf_and_discovery_for_json() {
    ReflectorWorld world(endpoint_slices_resource());
    world.refuse(404);
    CPPUNIT_ASSERT_EQUAL(kType + ", application/json", world.transport.last_accept());
    world.refuse(404);
    CPPUNIT_ASSERT(world.asked("/apis/discovery.k8s.io/v1"));
    CPPUNIT_ASSERT_EQUAL(std::string("application/json"), world.transport.last_accept());
  }

  void a_list_has_pages_and_a_watch_follows() {
    ReflectorWorld world;
    CPPUNIT_ASSERT_EQUAL(0L, answer(world, list(item("a") + item("b"), "more")));
    CPPUNIT_ASSERT_EQUAL(0L, answer(world, list(item("c"))));
    CPPUNIT_ASSERT(world.asked("continue=more"));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a, upsert Service demo/b, upsert Service demo/c, end Service"),
                         world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(0L, answer(world,
                                    event("ADDED", "Service", test::pb_service("d")) +
                                        event("DELETED", "Service", test::pb_service("a")) +
                                        event("BOOKMARK", "Service", pb_bytes(1, pb_bytes(6, "12"))),
                                    kStream));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service demo/d, remove Service demo/a"), world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(0L, answer(world, "", kStream));
    CPPUNIT_ASSERT(world.asked("resourceVersion=12"));
  }

  void a_streaming_list_ends_with_its_bookmark() {
    ReflectorWorld world(services_resource(), true);
    const std::string end = pb_bytes(12, pb_bytes(1, "k8s.io/initial-events-end") + pb_bytes(2, "true"));
    CPPUNIT_ASSERT_EQUAL(0L, answer(world,
                                    event("ADDED", "Service", test::pb_service("a")) +
                                        event("BOOKMARK", "Service", pb_bytes(1, pb_bytes(6, "11") + end)),
                                    kStream));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a, end Service"), world.events.take_text());
    CPPUNIT_ASSERT(world.reflector.status().listed);
  }

  void errors_are_statuses_in_protobuf() {
    const std::string status = pb_bytes(2, "Failure") + pb_bytes(3, "no") + pb_bytes(4, "Forbidden") + pb_number(6, 403);
    ReflectorWorld world;
    answer(world, test::pb_unknown("Status", status), kType, 403);
    CPPUNIT_ASSERT_EQUAL(std::string("the API server https://api answers 403 Forbidden: \"no\"; grant list and watch on "
                                     "services, as ClusterRole system:node-proxier does"),
                         world.reflector.status().last_error);
    answer(world, list(""));
    // An expired version leads to a new list at once.
    const std::string expired = pb_bytes(4, "Expired") + pb_number(6, 410);
    CPPUNIT_ASSERT_EQUAL(0L, answer(world, event("ERROR", "Status", expired), kStream));
    CPPUNIT_ASSERT_EQUAL(0L, answer(world, list("")));
    CPPUNIT_ASSERT(!world.asked("watch=true"));
  }

  void an_object_that_is_too_large_or_malformed_is_named() {
    const std::string large = test::pb_service("large", pb_bytes(2, std::string(kMaxObjectBytes, 'x')));
    const std::string malformed = test::pb_service("malformed", "\x1a\x7f");
    ReflectorWorld world;
    answer(world, list(item("a") + pb_bytes(2, large) + pb_bytes(2, malformed) + item("b")));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a, unusable Service demo/large, unusable Service "
                                     "demo/malformed, upsert Service demo/b, end Service"),
                         world.events.take_text());
    const auto lines = world.logged();
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), lines.size());
    CPPUNIT_ASSERT(lines[0].find("Service demo/large: is larger than 4 MiB") != std::string::npos);
    CPPUNIT_ASSERT(lines[1].find("Service demo/malformed: is not valid protobuf: spec ends too early") !=
                   std::string::npos);
    answer(world, event("MODIFIED", "Service", large) + event("ADDED", "Service", test::pb_service("c")), kStream);
    CPPUNIT_ASSERT_EQUAL(std::string("unusable Service demo/large, upsert Service demo/c"), world.events.take_text());
  }

  void a_body_that_is_no_protobuf_is_an_error() {
    ReflectorWorld world;
    CPPUNIT_ASSERT(answer(world, ReflectorWorld::list("1", "")) > 0);
    CPPUNIT_ASSERT_EQUAL(std::string("the answer of the API server https://api cannot be used: the list does not begin "
                                     "with the bytes k8s\\0"),
                         world.reflector.status().last_error);
    answer(world, list(""));
    CPPUNIT_ASSERT(answer(world, ReflectorWorld::bookmark("12"), kStream) > 0);
    CPPUNIT_ASSERT_EQUAL(std::string("the answer of the API server https://api cannot be used: a watch event was "
                                     "expected, not one of 2065855609 bytes"),
                         world.reflector.status().last_error);
  }

  void a_list_of_another_kind_is_an_error() {
    ReflectorWorld world;
    CPPUNIT_ASSERT(answer(world, test::pb_unknown("PodList", pb_bytes(1, test::pb_list_meta("10")))) > 0);
    CPPUNIT_ASSERT_EQUAL(std::string("the answer of the API server https://api cannot be used: the answer is a "
                                     "\"PodList\" and not a ServiceList"),
                         world.reflector.status().last_error);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReflectorProtobufTest);

}  // namespace reflector_protobuf_test
}  // namespace sluice::kube
