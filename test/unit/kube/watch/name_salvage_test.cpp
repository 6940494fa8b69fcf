// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/name_salvage.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/kube/decoding.hpp"
#include "test/unit/kube/recorded.hpp"

namespace sluice::kube {
namespace name_salvage_test {

using model::ResourceKind;

class NameSalvageTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NameSalvageTest);
  CPPUNIT_TEST(the_name_is_found_in_malformed_text);
  CPPUNIT_TEST(the_name_is_found_in_the_beginning_of_a_real_object);
  CPPUNIT_TEST(only_the_objects_own_metadata_counts);
  CPPUNIT_TEST(invalid_names_are_ignored);
  CPPUNIT_TEST(any_text_is_handled);
  CPPUNIT_TEST(a_malformed_object_has_its_name);
  CPPUNIT_TEST(a_malformed_event_has_the_name_of_its_object);
  CPPUNIT_TEST(a_malformed_event_without_a_name_is_an_error);
  CPPUNIT_TEST_SUITE_END();

  void the_name_is_found_in_malformed_text() {
    const auto head = salvage_object(
        "{\"kind\":\"Service\",\"x\":[{\"y\":\"\xff\"},01,],\"metadata\" : { \"name\" : "
        "\"a\",\"namespace\":\"b\",\"resourceVersion\":\"7\",\"labels\":{\"c");
    CPPUNIT_ASSERT_EQUAL(std::string("Service"), head.kind);
    CPPUNIT_ASSERT_EQUAL(std::string("a"), head.name);
    CPPUNIT_ASSERT_EQUAL(std::string("b"), head.name_space);
    CPPUNIT_ASSERT_EQUAL(std::string("7"), head.resource_version);
  }

  void the_name_is_found_in_the_beginning_of_a_real_object() {
    const std::string body = test::recorded("create-service-loadbalancer").body;
    const auto head = salvage_object(std::string_view(body).substr(0, body.size() / 2));
    CPPUNIT_ASSERT_EQUAL(std::string("lb"), head.name);
    CPPUNIT_ASSERT_EQUAL(std::string("demo"), head.name_space);
    const std::string events = test::recorded("watchlist-services-sendinitialevents").body;
    const auto event = salvage_event(std::string_view(events).substr(0, 300));
    CPPUNIT_ASSERT_EQUAL(std::string("ADDED"), event.type);
    CPPUNIT_ASSERT_EQUAL(std::string("kubernetes"), event.name);
  }

  void only_the_objects_own_metadata_counts() {
    const auto head = salvage_object(
        R"({"name":"x","metadata":{"labels":{"name":"x"},"ownerReferences":[{"name":"x"}],"name":"a","note":"name"},
            "spec":{"metadata":{"name":"x"},"name":"x"},"items":[{"metadata":{"name":"x"}}]})");
    CPPUNIT_ASSERT_EQUAL(std::string("a"), head.name);
    CPPUNIT_ASSERT_EQUAL(
        std::string(""),
        salvage_object(R"({"x":"metadata","y":{"name":"a"},"z":"{\"metadata\":{\"name\":\"a\"}}"})").name);
  }

  void invalid_names_are_ignored() {
    for (const char* name : {"", "A", "a b", "../x", "a\\u0061", "-a"}) {
      const std::string text = std::string(R"({"metadata":{"namespace":"b","name":")") + name + "\"},\xff}";
      CPPUNIT_ASSERT_MESSAGE(name, test::decode(ResourceKind::service, text).name.name.empty());
    }
    CPPUNIT_ASSERT(test::decode(ResourceKind::service, "{\"metadata\":{\"name\":\"a\"},\xff}").name.name.empty());
    CPPUNIT_ASSERT(
        test::decode(ResourceKind::service, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"},\xff}")
            .name.name.empty());
  }

  void any_text_is_handled() {
    for (const std::string& text :
         {std::string(), std::string("\""), std::string("\"\\"), std::string("}}]]"), std::string(",,,\"a\""),
          std::string("{{{{{\"a\":\"b\""), std::string("[\"a\":\"b\"]"), std::string(100000, '['),
          std::string(100000, '{'), std::string("{\"a\"\"b\"\"c\"")}) {
      CPPUNIT_ASSERT_EQUAL(std::string(""), salvage_object(text).name);
      CPPUNIT_ASSERT_EQUAL(std::string(""), salvage_event(text).name);
    }
  }

  void a_malformed_object_has_its_name() {
    const auto deep = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    for (const std::string& malformed : {std::string("\"\xff\xc0\""), std::string("01"), std::string("nul"), deep(2000),
                                         std::string("123456789012345678901234567890"), std::string("1e999")}) {
      const auto decoded = test::decode(
          ResourceKind::service,
          R"({"metadata":{"name":"a","namespace":"b","resourceVersion":"7"},"spec":{"x":)" + malformed + "}}");
      const auto* failed = std::get_if<Failed>(&decoded.result);
      CPPUNIT_ASSERT_MESSAGE(malformed.substr(0, 40), failed != nullptr && failed->path.empty());
      CPPUNIT_ASSERT(failed->problem.starts_with("is not valid JSON: "));
      CPPUNIT_ASSERT_EQUAL(std::string("b/a"), decoded.name.to_string());
      CPPUNIT_ASSERT_EQUAL(std::string("7"), decoded.resource_version);
    }
    const auto node = test::decode(ResourceKind::node, "{\"metadata\":{\"name\":\"node-a\"},\"x\":\"\xff\"}");
    CPPUNIT_ASSERT_EQUAL(std::string("node-a"), node.name.to_string());
  }

  void a_malformed_event_has_the_name_of_its_object() {
    using Type = WatchEvent::Type;
    for (const auto& [text, type] : {std::pair<std::string, Type>{"ADDED", Type::added},
                                     {"MODIFIED", Type::modified},
                                     {"DELETED", Type::deleted}}) {
      const auto event = Decoder().watch_event(
          ResourceKind::service, R"({"type":")" + text +
                                     R"(","object":{"kind":"Service","metadata":{"name":"a","namespace":"b"},"x":")" +
                                     "\xff\"}}");
      CPPUNIT_ASSERT(event.ok() && event->type == type);
      CPPUNIT_ASSERT_EQUAL(std::string("b/a"), event->object.name.to_string());
      CPPUNIT_ASSERT(std::holds_alternative<Failed>(event->object.result));
    }
  }

  void a_malformed_event_without_a_name_is_an_error() {
    for (const char* text :
         {"{\"type\":\"ADDED\",\"object\":{\"x\":\"\xff\"}}",
          "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"},\"x\":\"\xff\"}}",
          "{\"object\":{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}},\"x\":\"\xff\"}",
          "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\",\"namespace\":\"b\"}}}"}) {
      const auto event = Decoder().watch_event(ResourceKind::service, text);
      CPPUNIT_ASSERT(!event.ok());
      CPPUNIT_ASSERT(event.status().message().starts_with("a watch event is not valid JSON"));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NameSalvageTest);

}  // namespace name_salvage_test
}  // namespace sluice::kube
