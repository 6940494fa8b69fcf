// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/decode/protobuf_to_json.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <random>

#include "core/kube/recording/encode.hpp"
#include "core/kube/watch/answer_reader.hpp"
#include "core/kube/watch/protobuf_splitter.hpp"
#include "test/unit/kube/decoding.hpp"
#include "test/unit/kube/protobuf_bytes.hpp"
#include "test/unit/kube/recorded.hpp"

namespace sluice::kube {
namespace protobuf_to_json_test {

using model::ResourceKind;
using test::pb_bytes;
using test::pb_number;

std::string json(ResourceKind kind, const std::string& bytes) {
  ProtobufToJson converter;
  const auto out = converter.object(protobuf_message(kind, false), bytes);
  CPPUNIT_ASSERT_EQUAL(std::string(), out.problem);
  return std::string(out.json);
}

std::string service(const std::string& spec) { return json(ResourceKind::service, pb_bytes(2, spec)); }

std::string problem(const std::string& service) {
  ProtobufToJson converter;
  return converter.object(protobuf_message(ResourceKind::service, false), service).problem;
}

// Everything that is decoded of an object.
std::string shown(const Decoded& decoded) {
  std::string out = decoded.name.to_string() + " " + decoded.resource_version + " " + test::outcome(decoded);
  if (const auto* object = std::get_if<Object>(&decoded.result)) {
    out += " " + encode_object(*object);
  } else if (const auto* slices = std::get_if<Slices>(&decoded.result)) {
    for (const auto& slice : slices->slices) out += " " + encode_object(slice);
  }
  for (const auto& note : decoded.notes) out += "\n  " + note;
  return out + "\n";
}

void deliver(AnswerReader& reader, const test::RecordedResponse& response) {
  CPPUNIT_ASSERT_EQUAL(std::string(), reader.on_head({response.status, response.content_type, {}}).message());
  CPPUNIT_ASSERT_EQUAL(std::string(), reader.on_body(response.body).message());
}

std::string list_text(const std::string& name, ResourceKind kind, bool endpoints) {
  Decoder decoder({.endpoints = endpoints});
  std::string out;
  ListReader reader(decoder, kind, [] {}, [&](Decoded decoded) {
    out += shown(decoded);
    return lib::Status();
  });
  deliver(reader, test::recorded(name));
  const auto envelope = reader.finish();
  CPPUNIT_ASSERT_EQUAL(std::string(), envelope.status().message());
  return out + envelope->kind + " " + envelope->resource_version + " " + envelope->continue_token;
}

std::string watch_text(const std::string& name, ResourceKind kind) {
  Decoder decoder;
  std::string out;
  WatchReader reader(decoder, kind, [] {}, [&](WatchEvent event) {
    out += event.type_text + (event.initial_events_end ? " end " : " ") + std::to_string(event.status.code) + " " +
           shown(event.object);
    return lib::Status();
  }, [] { return std::nullopt; });
  deliver(reader, test::recorded(name));
  return out;
}

std::string refusal_text(const std::string& name) {
  Decoder decoder;
  ProbeReader reader(decoder);
  deliver(reader, test::recorded(name));
  const ApiStatus status = reader.refusal();
  // The version of the server grows between two recordings.
  return std::to_string(status.code) + " " + status.reason + " " +
         status.message.substr(0, status.message.find("current: ")) + " " +
         std::to_string(status.retry_after.value_or(std::chrono::seconds(0)).count()) +
         (status.too_large_resource_version ? " too large" : "");
}

class ProtobufToJsonTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ProtobufToJsonTest);
  CPPUNIT_TEST(recorded_lists_decode_as_in_json);
  CPPUNIT_TEST(recorded_watches_decode_as_in_json);
  CPPUNIT_TEST(recorded_errors_decode_as_in_json);
  CPPUNIT_TEST(zeros_are_shown_as_in_json);
  CPPUNIT_TEST(only_listed_keys_of_maps_are_written);
  CPPUNIT_TEST(texts_are_escaped);
  CPPUNIT_TEST(unknown_fields_are_skipped);
  CPPUNIT_TEST(elements_of_a_list_may_be_apart);
  CPPUNIT_TEST(negative_numbers_are_negative);
  CPPUNIT_TEST(problems_have_a_path);
  CPPUNIT_TEST(an_object_with_a_problem_has_its_name);
  CPPUNIT_TEST(objects_need_the_magic_bytes_and_no_encoding);
  CPPUNIT_TEST(objects_of_another_kind_have_their_kind_only);
  CPPUNIT_TEST(truncated_objects_are_errors_or_shorter_objects);
  CPPUNIT_TEST(random_bytes_are_handled);
  CPPUNIT_TEST_SUITE_END();

  void recorded_lists_decode_as_in_json() {
    struct Case {
      const char* name;
      ResourceKind kind;
      bool endpoints;
      std::size_t lines;  // at least
    };
    for (const Case& one : {Case{"encoded-services", ResourceKind::service, false, 6},
                            Case{"encoded-services-page", ResourceKind::service, false, 2},
                            Case{"encoded-endpointslices", ResourceKind::endpoint_slice, false, 6},
                            Case{"encoded-endpoints", ResourceKind::endpoint_slice, true, 2},
                            Case{"encoded-nodes", ResourceKind::node, false, 3},
                            Case{"encoded-servicecidrs", ResourceKind::service_cidr, false, 2}}) {
      const std::string name = one.name;
      const std::string expected = list_text(name + "-json", one.kind, one.endpoints);
      CPPUNIT_ASSERT_EQUAL(expected, list_text(name + "-protobuf", one.kind, one.endpoints));
      const auto lines = static_cast<std::size_t>(std::count(expected.begin(), expected.end(), '\n'));
      CPPUNIT_ASSERT_MESSAGE(expected, lines >= one.lines);
    }
  }

  void recorded_watches_decode_as_in_json() {
    for (const auto& [name, kind] : {std::pair<std::string, ResourceKind>{"encoded-watch-services",
                                                                          ResourceKind::service},
                                     {"encoded-watch-endpointslices", ResourceKind::endpoint_slice}}) {
      const std::string expected = watch_text(name + "-json", kind);
      CPPUNIT_ASSERT_EQUAL(expected, watch_text(name + "-protobuf", kind));
      for (const char* type : {"ADDED ", "MODIFIED ", "DELETED ", "BOOKMARK end "}) {
        CPPUNIT_ASSERT_MESSAGE(expected, expected.find(type) != std::string::npos);
      }
    }
  }

  void recorded_errors_decode_as_in_json() {
    for (const std::string name : {"encoded-not-found", "encoded-future"}) {
      CPPUNIT_ASSERT_EQUAL(refusal_text(name + "-json"), refusal_text(name + "-protobuf"));
    }
    CPPUNIT_ASSERT(refusal_text("encoded-future-protobuf").ends_with(" 1 too large"));
  }

  void zeros_are_shown_as_in_json() {
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"spec":{"ports":[{"port":0}],"internalTrafficPolicy":""}})"),
                         service(pb_bytes(1, pb_bytes(1, "") + pb_bytes(2, "") + pb_number(3, 0) + pb_number(5, 0)) +
                                 pb_bytes(3, "") + pb_bytes(4, "") + pb_number(12, 0) + pb_bytes(22, "")));
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"endpoints":[{"addresses":["",""],"conditions":{"ready":false,"serving":true},"nodeName":"",)"
                    R"("hints":{}}],"ports":[{"name":"","port":0}],"addressType":""})"),
        json(ResourceKind::endpoint_slice,
             pb_bytes(2, pb_bytes(1, "") + pb_bytes(1, "") + pb_bytes(2, pb_number(1, 0) + pb_number(2, 1)) +
                             pb_bytes(6, "") + pb_bytes(8, "")) +
                 pb_bytes(3, pb_bytes(1, "") + pb_number(3, 0)) + pb_bytes(4, "")));
    // A time that is not set is an empty message.
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"metadata":{"name":"a","deletionTimestamp":"2026-11-27T10:00:00Z"}})"),
        json(ResourceKind::node,
             pb_bytes(1, pb_bytes(1, "a") + pb_bytes(3, "") + pb_bytes(8, "") +
                             pb_bytes(9, pb_number(1, 1795773600) + pb_number(2, 0)))));
  }

  void only_listed_keys_of_maps_are_written() {
    const auto entry = [](const char* key, const char* value) {
      return pb_bytes(11, pb_bytes(1, key) + pb_bytes(2, value));
    };
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"metadata":{"labels":{"topology.kubernetes.io/zone":""}}})"),
        json(ResourceKind::node, pb_bytes(1, entry("a", "b") + entry("topology.kubernetes.io/zone", ""))));
  }

  void texts_are_escaped() {
    CPPUNIT_ASSERT_EQUAL(std::string("{\"spec\":{\"clusterIP\":\"a\\\"b\\\\c\\u000a\xc3\xa4\"}}"),
                         service(pb_bytes(3, "a\"b\\c\n\xc3\xa4")));
  }

  void unknown_fields_are_skipped() {
    const std::string fixed64 = std::string("\xf9\x01", 2) + std::string(8, 'x');
    const std::string fixed32 = std::string("\xfd\x01", 2) + std::string(4, 'x');
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"spec":{"clusterIP":"a"}})"),
                         service(pb_number(99, 7) + fixed64 + pb_bytes(3, "a") + fixed32 + pb_bytes(98, "\xff")));
  }

  void elements_of_a_list_may_be_apart() {
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"spec":{"clusterIP":"2","externalIPs":["a","b"]}})"),
                         service(pb_bytes(5, "a") + pb_bytes(3, "1") + pb_bytes(5, "b") + pb_bytes(3, "2")));
  }

  void negative_numbers_are_negative() {
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"spec":{"healthCheckNodePort":-1}})"),
                         service(pb_number(12, static_cast<std::uint64_t>(-1))));
  }

  void problems_have_a_path() {
    const auto spec = [](const std::string& bytes) { return problem(pb_bytes(2, bytes)); };
    const std::string prefix = "is not valid protobuf: ";
    CPPUNIT_ASSERT_EQUAL(prefix + "spec.ports[1].port has the wrong wire type",
                         spec(pb_bytes(1, pb_number(3, 1)) + pb_bytes(1, pb_bytes(3, "x"))));
    CPPUNIT_ASSERT_EQUAL(prefix + "spec.clusterIPs[1] is not valid UTF-8",
                         spec(pb_bytes(18, "10.0.0.1") + pb_bytes(18, "\xff")));
    CPPUNIT_ASSERT_EQUAL(prefix + "spec ends too early", spec("\x1a\x05" "abc"));
    CPPUNIT_ASSERT_EQUAL(prefix + "spec ends too early", spec("\x1a"));
    CPPUNIT_ASSERT_EQUAL(prefix + "spec ends too early", spec("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" "a"));
    CPPUNIT_ASSERT_EQUAL(prefix + "spec holds a number of more than 64 bits", spec("\x1a" + std::string(11, '\xff')));
    CPPUNIT_ASSERT_EQUAL(prefix + "spec holds a field of an unknown wire type", spec("\x1b\x1c"));
    CPPUNIT_ASSERT_EQUAL(prefix + "spec holds a field with an invalid number", spec(std::string("\x02\x00", 2)));
    CPPUNIT_ASSERT_EQUAL(prefix + "spec occurs twice", problem(pb_bytes(2, "") + pb_bytes(2, "")));
    CPPUNIT_ASSERT_EQUAL(prefix + "metadata.creationTimestamp is beyond the times of a clock",
                         problem(pb_bytes(1, pb_bytes(8, pb_number(1, std::uint64_t(1) << 62)))));
    CPPUNIT_ASSERT_EQUAL(prefix + "metadata has the wrong wire type", problem(pb_number(1, 5)));
    // A length that is small only in 32 bits.
    CPPUNIT_ASSERT_EQUAL(prefix + "spec ends too early",
                         spec("\x1a" + test::pb_varint((std::uint64_t(1) << 32) + 1) + "a"));
  }

  void an_object_with_a_problem_has_its_name() {
    Decoder decoder;
    const std::string bad = test::pb_service("web", "\x1a");
    const Decoded decoded = decoder.object(ResourceKind::service, bad, Encoding::protobuf);
    CPPUNIT_ASSERT_EQUAL(std::string("demo/web"), decoded.name.to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("7"), decoded.resource_version);
    CPPUNIT_ASSERT_EQUAL(std::string("is not valid protobuf: spec ends too early"), test::outcome(decoded));
    const auto event = decoder.watch_event(
        ResourceKind::service, test::pb_event("DELETED", test::pb_unknown("Service", bad)), Encoding::protobuf);
    CPPUNIT_ASSERT(event && event->type == WatchEvent::Type::deleted && event->object.name == decoded.name);
    // Without a name, a watch event is lost.
    const auto lost = decoder.watch_event(
        ResourceKind::service, test::pb_event("ADDED", test::pb_unknown("Service", "\x1a")), Encoding::protobuf);
    CPPUNIT_ASSERT_EQUAL(std::string("a watch event is not valid protobuf: ends too early"), lost.status().message());
  }

  void objects_need_the_magic_bytes_and_no_encoding() {
    const auto event_problem = [](const std::string& object) {
      ProtobufToJson converter;
      const auto& message = protobuf_message(ResourceKind::service, false);
      return converter.watch_event("Service", message, test::pb_event("ADDED", object)).problem;
    };
    const std::string prefix = "is not valid protobuf: ";
    const std::string good = test::pb_unknown("Service", test::pb_service("a"));
    CPPUNIT_ASSERT_EQUAL(std::string(), event_problem(good));
    for (const std::string& bad : {std::string(), std::string("k8s"), good.substr(1), std::string("{}")}) {
      CPPUNIT_ASSERT_EQUAL(prefix + "the object does not begin with the bytes k8s\\0", event_problem(bad));
    }
    CPPUNIT_ASSERT_EQUAL(prefix + "the object has the encoding \"gzip\"", event_problem(good + pb_bytes(3, "gzip")));
    CPPUNIT_ASSERT_EQUAL(prefix + "the object is \"application/json\"",
                         event_problem(good + pb_bytes(4, "application/json")));
  }

  void objects_of_another_kind_have_their_kind_only() {
    Decoder decoder;
    const auto event = decoder.watch_event(
        ResourceKind::service, test::pb_event("ADDED", test::pb_unknown("Pod", pb_bytes(1, pb_bytes(1, "a")))),
        Encoding::protobuf);
    CPPUNIT_ASSERT_EQUAL(std::string("kind: Pod"), test::outcome(event->object));
    const auto error = decoder.watch_event(
        ResourceKind::service,
        test::pb_event("ERROR", test::pb_unknown("Status", pb_bytes(3, "m") + pb_bytes(4, "Expired") +
                                                               pb_number(6, 410))),
        Encoding::protobuf);
    CPPUNIT_ASSERT(error->status.expired());
    CPPUNIT_ASSERT_EQUAL(std::string("m"), error->status.message);
    CPPUNIT_ASSERT(!decoder.status(test::pb_unknown("Service", ""), Encoding::protobuf));
    CPPUNIT_ASSERT(!decoder.status("{}", Encoding::protobuf));
  }

  // Between two fields, an object ends like a shorter object.
  void truncated_objects_are_errors_or_shorter_objects() {
    Decoder decoder;
    std::vector<std::string> events;
    FrameSplitter splitter([&](std::string_view event) {
      events.emplace_back(event);
      return lib::Status();
    });
    CPPUNIT_ASSERT(splitter.append(test::recorded("encoded-watch-services-protobuf").body).ok());
    CPPUNIT_ASSERT(events.size() >= 8);
    int readable = 0;
    for (const std::string& event : events) {
      for (std::size_t size = 0; size < event.size(); ++size) {
        const auto got = decoder.watch_event(ResourceKind::service, event.substr(0, size), Encoding::protobuf);
        if (got.ok() && test::outcome(got->object) == "ok") ++readable;
      }
    }
    CPPUNIT_ASSERT_EQUAL(0, readable);
  }

  void random_bytes_are_handled() {
    std::mt19937 random(23);
    Decoder decoder;
    const std::string good = test::pb_event("ADDED", test::pb_unknown("Service", test::pb_service(
                                 "web", pb_bytes(1, pb_bytes(1, "http") + pb_number(3, 80)) + pb_bytes(3, "10.0.0.1"))));
    for (int round = 0; round < 20000; ++round) {
      std::string bytes = good;
      for (std::size_t i = random() % 4 + 1; i > 0; --i) bytes[random() % bytes.size()] = static_cast<char>(random());
      const auto got = decoder.watch_event(ResourceKind::service, bytes, Encoding::protobuf);
      CPPUNIT_ASSERT(got.ok() || !got.status().message().empty());
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ProtobufToJsonTest);

}  // namespace protobuf_to_json_test
}  // namespace sluice::kube
