// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Nodes, Statuses, watch events, list envelopes, and malformed text.

#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/kube/decode/json_field.hpp"
#include "core/kube/decode/text.hpp"
#include "test/unit/kube/decoding.hpp"
#include "test/unit/kube/recorded.hpp"

namespace sluice::kube {
namespace decode_test {

using model::ResourceKind;

model::Node node(const std::string& members, const std::string& metadata = "") {
  return test::decoded<model::Node>(ResourceKind::node,
                                    R"({"metadata":{"name":"node-a")" + metadata + "}," + members + "}");
}

class DecodeTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DecodeTest);
  CPPUNIT_TEST(a_node_is_read);
  CPPUNIT_TEST(a_node_leaves_when_deleted_or_tainted);
  CPPUNIT_TEST(invalid_node_addresses_are_ignored);
  CPPUNIT_TEST(a_status_is_read);
  CPPUNIT_TEST(a_too_large_resource_version_is_detected);
  CPPUNIT_TEST(types_of_watch_events_are_decoded);
  CPPUNIT_TEST(a_deleted_object_needs_its_name_only);
  CPPUNIT_TEST(a_watch_event_without_object_is_an_error);
  CPPUNIT_TEST(list_envelopes_are_read);
  CPPUNIT_TEST(object_heads_have_labels);
  CPPUNIT_TEST(every_recorded_body_decodes);
  CPPUNIT_TEST(truncated_text_is_an_error_at_every_byte);
  CPPUNIT_TEST(wrong_types_anywhere_are_handled);
  CPPUNIT_TEST(deep_nesting_is_an_error);
  CPPUNIT_TEST(bad_utf8_and_numbers_are_errors);
  CPPUNIT_TEST(a_huge_object_leaves_the_decoder_usable);
  CPPUNIT_TEST(quoted_text_is_short_and_printable);
  CPPUNIT_TEST_SUITE_END();

  void a_node_is_read() {
    const auto got = node(R"("spec":{"podCIDR":"10.1.0.0/24","podCIDRs":["10.1.0.0/24","fd00:1::/64"]},
        "status":{"addresses":[{"type":"Hostname","address":"node-a"},{"type":"InternalIP","address":"192.0.2.1"},
        {"type":"ExternalIP","address":"198.51.100.1"},{"type":"InternalIP","address":"fd00::1"}]})",
                          R"(,"labels":{"topology.kubernetes.io/zone":"zone-a"})");
    CPPUNIT_ASSERT_EQUAL(std::string("node-a"), got.name);
    CPPUNIT_ASSERT_EQUAL(std::string("zone-a"), got.zone);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), got.internal_ips.size());
    CPPUNIT_ASSERT_EQUAL(std::string("198.51.100.1"), got.external_ips.at(0).to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("fd00:1::/64"), got.pod_cidrs.at(1).to_string());
    CPPUNIT_ASSERT(!got.leaving);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), node(R"("spec":{"podCIDR":"10.1.0.0/24"})").pod_cidrs.size());
  }

  void a_node_leaves_when_deleted_or_tainted() {
    CPPUNIT_ASSERT(node(R"("spec":{})", R"(,"deletionTimestamp":"2026-11-21T00:11:20Z")").leaving);
    CPPUNIT_ASSERT(!node(R"("spec":{})", R"(,"deletionTimestamp":null)").leaving);
    CPPUNIT_ASSERT(node(R"("spec":{"taints":[{"key":"a"},{"key":"ToBeDeletedByClusterAutoscaler"}]})").leaving);
    CPPUNIT_ASSERT(!node(R"("spec":{"taints":[{"key":"a"}]})").leaving);
  }

  void invalid_node_addresses_are_ignored() {
    const auto decoded = test::decode(ResourceKind::node, R"({"metadata":{"name":"a"},"spec":{"podCIDRs":["x"]},
        "status":{"addresses":[{"type":"InternalIP","address":"?"},{"type":"InternalDNS","address":"a.b"}]}})");
    CPPUNIT_ASSERT_EQUAL(std::string("ok"), test::outcome(decoded));
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), decoded.notes.size());
  }

  void a_status_is_read() {
    Decoder decoder;
    const auto status = decoder.status(
        R"({"kind":"Status","code":429,"reason":"TooManyRequests","message":"m","details":{"retryAfterSeconds":7}})");
    CPPUNIT_ASSERT(status.has_value());
    CPPUNIT_ASSERT_EQUAL(429, status->code);
    CPPUNIT_ASSERT(status->retry_after == std::chrono::seconds(7));
    CPPUNIT_ASSERT(!status->expired());
    CPPUNIT_ASSERT(decoder.status(R"({"kind":"Status","code":410})")->expired());
    CPPUNIT_ASSERT(decoder.status(R"({"kind":"Status","reason":"Expired"})")->expired());
    CPPUNIT_ASSERT(!decoder.status(R"({"kind":"Other","code":410})"));
    CPPUNIT_ASSERT(!decoder.status("<html>"));
    CPPUNIT_ASSERT(!decoder.status(""));
    CPPUNIT_ASSERT_EQUAL(999, decoder.status(R"({"kind":"Status","code":5000000000})")->code);
  }

  void a_too_large_resource_version_is_detected() {
    const auto status = Decoder().status(test::recorded("list-resource-version-in-future").body);
    CPPUNIT_ASSERT(status && status->too_large_resource_version);
    CPPUNIT_ASSERT_EQUAL(504, status->code);
  }

  void types_of_watch_events_are_decoded() {
    Decoder decoder;
    using Type = WatchEvent::Type;
    const auto type = [&](const std::string& text) {
      const auto event = decoder.watch_event(
          ResourceKind::service,
          R"({"type":")" + text + R"(","object":{"metadata":{"name":"a","namespace":"b","resourceVersion":"9"}}})");
      return event.ok() ? event->type : Type::unknown;
    };
    CPPUNIT_ASSERT(type("ADDED") == Type::added);
    CPPUNIT_ASSERT(type("MODIFIED") == Type::modified);
    CPPUNIT_ASSERT(type("DELETED") == Type::deleted);
    CPPUNIT_ASSERT(type("BOOKMARK") == Type::bookmark);
    CPPUNIT_ASSERT(type("ERROR") == Type::error);
    CPPUNIT_ASSERT(type("added") == Type::unknown);
    const auto bookmark =
        decoder.watch_event(ResourceKind::endpoint_slice,
                            R"({"type":"BOOKMARK","object":{"kind":"EndpointSlice","metadata":{"resourceVersion":"572"},
            "addressType":"","endpoints":null}})");
    CPPUNIT_ASSERT_EQUAL(std::string("572"), bookmark->object.resource_version);
  }

  void a_deleted_object_needs_its_name_only() {
    const auto event = Decoder().watch_event(
        ResourceKind::service,
        R"({"type":"DELETED","object":{"metadata":{"name":"a","namespace":"b"},"spec":{"ports":[{"port":0}]}}})");
    CPPUNIT_ASSERT(event.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("b/a"), event->object.name.to_string());
  }

  void a_watch_event_without_object_is_an_error() {
    Decoder decoder;
    for (const char* text : {"{}", R"({"type":"ADDED"})", R"({"type":"ADDED","object":null})", R"({"type":5})", "[]",
                             "5", R"({"type":"BOOKMARK","object":5})"}) {
      const auto event = decoder.watch_event(ResourceKind::service, text);
      CPPUNIT_ASSERT_MESSAGE(text, !event.ok() || event->type == WatchEvent::Type::unknown);
    }
  }

  void list_envelopes_are_read() {
    const auto envelope = Decoder().list_envelope(
        R"({"kind":"ServiceList","metadata":{"resourceVersion":"534","continue":"abc"},"items":[]})");
    CPPUNIT_ASSERT_EQUAL(std::string("ServiceList"), envelope->kind);
    CPPUNIT_ASSERT_EQUAL(std::string("534"), envelope->resource_version);
    CPPUNIT_ASSERT_EQUAL(std::string("abc"), envelope->continue_token);
    CPPUNIT_ASSERT(!Decoder().list_envelope(R"({"kind":5})").ok());
    CPPUNIT_ASSERT(!Decoder().list_envelope("{").ok());
  }

  void object_heads_have_labels() {
    const auto head = Decoder().head(
        R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a",
            "labels":{"service.kubernetes.io/service-proxy-name":""}}})");
    CPPUNIT_ASSERT(head->other_proxy);
    CPPUNIT_ASSERT(!head->headless);
    CPPUNIT_ASSERT(Decoder().head(R"({"metadata":{"labels":{"service.kubernetes.io/headless":"x"}}})")->headless);
  }

  void every_recorded_body_decodes() {
    Decoder decoder;
    int objects = 0;
    for (const auto& response : test::all_recorded()) {
      if (response.content_type != "application/json" || !response.content_encoding.empty()) continue;
      if (response.name.find("watch") != std::string::npos) continue;  // see the splitter's test
      const auto head = decoder.head(response.body);
      CPPUNIT_ASSERT_MESSAGE(response.name, head.ok());
      for (const auto kind : model::kResourceKinds) {
        if (head->kind != model::resource_kind_name(kind)) continue;
        CPPUNIT_ASSERT_EQUAL_MESSAGE(response.name, std::string("ok"),
                                     test::outcome(decoder.object(kind, response.body)));
        ++objects;
      }
      if (response.status >= 400) {
        const auto status = decoder.status(response.body);
        CPPUNIT_ASSERT_MESSAGE(response.name, status && status->code == response.status);
      }
    }
    CPPUNIT_ASSERT(objects >= 7);
  }

  void truncated_text_is_an_error_at_every_byte() {
    Decoder decoder;
    for (const char* name : {"create-service-nodeport-dualstack", "create-endpointslice"}) {
      const auto kind =
          std::string(name).find("slice") != std::string::npos ? ResourceKind::endpoint_slice : ResourceKind::service;
      std::string body = test::recorded(name).body;
      while (!body.empty() && body.back() != '}') body.pop_back();
      CPPUNIT_ASSERT_EQUAL(std::string("ok"), test::outcome(decoder.object(kind, body)));
      for (std::size_t size = 0; size < body.size(); ++size) {
        const auto decoded = decoder.object(kind, std::string_view(body).substr(0, size));
        const auto* failed = std::get_if<Failed>(&decoded.result);
        CPPUNIT_ASSERT(failed != nullptr && failed->path.empty());
      }
    }
  }

  void wrong_types_anywhere_are_handled() {
    // Replaces each value of a real object, in turn, by a value of every type.
    Decoder decoder;
    int tried = 0;
    for (const char* name : {"create-service-loadbalancer", "create-endpointslice", "get-node"}) {
      const std::string body = test::recorded(name).body;
      ResourceKind kind = ResourceKind::service;
      if (std::string(name) == "create-endpointslice") kind = ResourceKind::endpoint_slice;
      if (std::string(name) == "get-node") kind = ResourceKind::node;
      for (std::size_t at = body.find("\":"); at != std::string::npos; at = body.find("\":", at + 2)) {
        if (body[at - 1] == '\\') continue;  // inside a key of managedFields
        const std::size_t begin = at + 2;
        const std::size_t end = value_end(body, begin);
        for (const char* value : {"null", "5", "-5", "1e300", "\"\"", "\"x\"", "true", "[]", "{}", "[[]]", "[{}]",
                                  "[null]", "[5]", "{\"a\":[]}"}) {
          const auto decoded = decoder.object(kind, body.substr(0, begin) + value + body.substr(end));
          // Any error has a field and a reason.
          if (const auto* failed = std::get_if<Failed>(&decoded.result)) {
            CPPUNIT_ASSERT(!failed->path.empty() && !failed->problem.empty());
          }
          ++tried;
        }
      }
    }
    CPPUNIT_ASSERT(tried > 1000);
  }

  // The end of the JSON value that begins at `begin`.
  static std::size_t value_end(const std::string& text, std::size_t begin) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = begin; i < text.size(); ++i) {
      const char c = text[i];
      if (in_string) {
        if (c == '\\') ++i;
        if (c == '"') in_string = false;
        continue;
      }
      if (c == '"') in_string = true;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (depth < 0 || (depth == 0 && c == ',')) return i;
    }
    return text.size();
  }

  void deep_nesting_is_an_error() {
    for (const std::size_t depth : {2000u, 200000u}) {
      const std::string deep =
          R"({"metadata":{"name":"a","namespace":"b"},"x":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
      CPPUNIT_ASSERT(std::holds_alternative<Failed>(test::decode(ResourceKind::service, deep).result));
    }
  }

  void bad_utf8_and_numbers_are_errors() {
    for (const std::string& text :
         {std::string("{\"metadata\":{\"name\":\"\xff\"}}"), std::string("{\"a\":123456789012345678901234567890}"),
          std::string("{\"a\":01}"), std::string("{\"a\":nul}"), std::string("{\"a\":\"\n\"}"),
          std::string("{\"a\":1}}"), std::string("{\"a\":1}x"), std::string("{'a':1}"), std::string(1, '\0')}) {
      CPPUNIT_ASSERT_MESSAGE(in_quotes(text),
                             std::holds_alternative<Failed>(test::decode(ResourceKind::service, text).result));
    }
  }

  void a_huge_object_leaves_the_decoder_usable() {
    Decoder decoder;
    const std::string padding(3u << 20, 'x');
    const std::string giant =
        R"({"metadata":{"name":"a","namespace":"b","annotations":{"p":")" + padding + R"("}},"spec":{}})";
    CPPUNIT_ASSERT_EQUAL(std::string("ok"), test::outcome(decoder.object(ResourceKind::service, giant)));
    CPPUNIT_ASSERT_EQUAL(std::string("ok"),
                         test::outcome(decoder.object(ResourceKind::service, test::service_json(""))));
  }

  void quoted_text_is_short_and_printable() {
    CPPUNIT_ASSERT_EQUAL(std::string("\"a\\x00\\x1b[31m\""), in_quotes(std::string_view("a\0\x1b[31m", 7)));
    CPPUNIT_ASSERT(in_quotes(std::string(5000, 'y')).size() < 100);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DecodeTest);

}  // namespace decode_test
}  // namespace sluice::kube
