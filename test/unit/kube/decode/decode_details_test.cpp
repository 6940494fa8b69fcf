// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <tuple>

#include "core/kube/decode/decode.hpp"
#include "core/kube/watch/answer_reader.hpp"
#include "test/unit/kube/decoding.hpp"
#include "test/unit/kube/protobuf_bytes.hpp"
#include "test/unit/kube/recorded.hpp"

namespace sluice::kube {
namespace decode_details_test {

using model::ResourceKind;
using test::pb_bytes;

const char* const kService = R"({"metadata":{"name":"web","namespace":"demo","uid":"u-1","annotations":{
  "a.example/x":"1","b.example/y":"2","a.example/w":"3","other.example/z":"4"}},
  "spec":{"clusterIP":"10.0.0.1","ports":[{"name":"a","port":80,"appProtocol":"kubernetes.io/h2c"},{"name":"b","port":81}]}})";

const char* const kSlice = R"({"metadata":{"name":"web-1","namespace":"demo","labels":{"kubernetes.io/service-name":"web"}},
  "addressType":"IPv4","ports":[{"name":"a","port":80}],"endpoints":[
  {"addresses":["10.1.0.1"],"nodeName":"n1","zone":"z1","targetRef":{"kind":"Pod","namespace":"demo","name":"p1","uid":"u1"}},
  {"addresses":["bad"],"zone":"lost"},
  {"addresses":["10.1.0.2"],"targetRef":{"kind":"Node","name":"n","uid":"u2"}},
  {"addresses":["10.1.0.3"],"zone":"z3","targetRef":{"kind":"Pod","namespace":"elsewhere","name":"p3","uid":"u3"}}]})";

model::WantedDetailsPtr wanted(const std::vector<model::DetailsRequest>& requests) {
  model::WantedDetails out;
  for (const auto& request : requests) out.add(request);
  return std::make_shared<const model::WantedDetails>(std::move(out));
}

const base::Symbol& prefixes_a() {
  static const base::Symbol out("a.example/");
  return out;
}

Decoded decode(ResourceKind kind, std::string_view json, const model::WantedDetailsPtr& details) {
  return Decoder({.details = details}).object(kind, json);
}

template <class T>
T object(ResourceKind kind, std::string_view json, const model::WantedDetailsPtr& details) {
  auto decoded = decode(kind, json, details);
  CPPUNIT_ASSERT_EQUAL(std::string("ok"), test::outcome(decoded));
  return std::get<T>(std::get<Object>(std::move(decoded.result)));
}

std::string text(const model::Shared<model::Annotations>& annotations) {
  std::string out;
  if (!annotations) return "none";
  for (const auto& one : *annotations) out += (out.empty() ? "" : ",") + one.key + "=" + one.value;
  return out;
}

// "uid protocols annotations of a.example/".
std::string text(const model::Service& service) {
  if (!service.details) return "none";
  std::string out = service.details->uid ? *service.details->uid : "-";
  for (const auto& protocol : service.details->app_protocols) out += " [" + std::string(protocol.text()) + "]";
  return out + " " + text(service.details->annotations_for(prefixes_a()));
}

// "zone/pod/uid" of each endpoint.
std::string text(const model::EndpointSlice& slice) {
  if (!slice.details) return "none";
  CPPUNIT_ASSERT_EQUAL(slice.endpoints.size(), slice.details->size());
  std::string out;
  for (const auto& one : *slice.details) {
    out += (out.empty() ? "" : " ") + std::string(one.zone.text()) + "/" + (one.pod ? one.pod->name + "/" + one.pod->uid : "-");
  }
  return out;
}

std::string annotated(const std::string& annotations) {
  return R"({"metadata":{"name":"web","namespace":"demo","annotations":{)" + annotations +
         R"(}},"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}})";
}

class DecodeDetailsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DecodeDetailsTest);
  CPPUNIT_TEST(nothing_is_kept_without_a_request);
  CPPUNIT_TEST(service_details_are_read);
  CPPUNIT_TEST(only_annotations_with_a_prefix_are_read);
  CPPUNIT_TEST(each_request_has_its_own_annotations);
  CPPUNIT_TEST(too_many_annotations_are_omitted_with_one_note);
  CPPUNIT_TEST(wrong_types_do_not_make_the_object_invalid);
  CPPUNIT_TEST(endpoint_details_are_parallel_to_the_endpoints);
  CPPUNIT_TEST(endpoints_have_details_too);
  CPPUNIT_TEST(protobuf_has_the_same_details);
  CPPUNIT_TEST(recorded_lists_have_the_same_details_in_both_encodings);
  CPPUNIT_TEST_SUITE_END();

  void nothing_is_kept_without_a_request() {
    for (const auto& details : {model::WantedDetailsPtr(), wanted({{.endpoints = true}})})
      CPPUNIT_ASSERT_EQUAL(std::string("none"), text(object<model::Service>(ResourceKind::service, kService, details)));
    for (const auto& details : {model::WantedDetailsPtr(), wanted({{true, false, prefixes_a()}})})
      CPPUNIT_ASSERT_EQUAL(std::string("none"),
                           text(object<model::EndpointSlice>(ResourceKind::endpoint_slice, kSlice, details)));
  }

  void service_details_are_read() {
    CPPUNIT_ASSERT_EQUAL(std::string("u-1 [kubernetes.io/h2c] [] none"),
                         text(object<model::Service>(ResourceKind::service, kService, wanted({{.services = true}}))));
    CPPUNIT_ASSERT_EQUAL(std::string("none"),
                         text(object<model::Service>(ResourceKind::service, annotated(""), wanted({{.services = true}}))));
  }

  void only_annotations_with_a_prefix_are_read() {
    CPPUNIT_ASSERT_EQUAL(std::string("- a.example/w=3,a.example/x=1"),
                         text(object<model::Service>(ResourceKind::service, kService,
                                                     wanted({{.annotation_prefixes = prefixes_a()}}))));
    // As in Kubernetes, the last of duplicate keys counts.
    CPPUNIT_ASSERT_EQUAL(std::string("- a.example/x=2"),
                         text(object<model::Service>(ResourceKind::service,
                                                     annotated(R"("a.example/x":"1","a.example/x":"2")"),
                                                     wanted({{.annotation_prefixes = prefixes_a()}}))));
  }

  void each_request_has_its_own_annotations() {
    const base::Symbol both = model::pack_names({"b.example/", "a.example/w"});
    const auto service =
        object<model::Service>(ResourceKind::service, kService,
                               wanted({{.annotation_prefixes = prefixes_a()}, {.annotation_prefixes = both}}));
    CPPUNIT_ASSERT_EQUAL(std::string("a.example/w=3,a.example/x=1"), text(service.details->annotations_for(prefixes_a())));
    CPPUNIT_ASSERT_EQUAL(std::string("a.example/w=3,b.example/y=2"), text(service.details->annotations_for(both)));
    CPPUNIT_ASSERT_EQUAL(std::string("none"), text(service.details->annotations_for(base::Symbol("c.example/"))));
  }

  void too_many_annotations_are_omitted_with_one_note() {
    const auto details = wanted({{.annotation_prefixes = prefixes_a()},
                                 {.annotation_prefixes = base::Symbol("a.example/small")}});
    const auto with = [&](std::size_t bytes) {
      return decode(ResourceKind::service,
                    annotated(R"("a.example/small":"1","a.example/x":")" + std::string(bytes, 'v') + "\""), details);
    };
    const std::size_t small_bytes = std::string("a.example/small1a.example/x").size();
    const auto fits = with(model::kMostAnnotationBytes - small_bytes);
    CPPUNIT_ASSERT(fits.notes.empty());
    const auto large = with(model::kMostAnnotationBytes - small_bytes + 1);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, large.notes.size());
    CPPUNIT_ASSERT_EQUAL(std::string("metadata.annotations: those for the backend have more than 16384 bytes; the backend "
                                     "receives none of this Service; shorten or remove some"),
                         large.notes[0]);
    const auto& service = std::get<model::Service>(std::get<Object>(large.result));
    CPPUNIT_ASSERT_EQUAL(std::string("none"), text(service.details->annotations_for(prefixes_a())));
    CPPUNIT_ASSERT_EQUAL(std::string("a.example/small=1"),
                         text(service.details->annotations_for(base::Symbol("a.example/small"))));
  }

  void wrong_types_do_not_make_the_object_invalid() {
    const auto details = wanted({{true, true, prefixes_a()}});
    const auto decoded = decode(ResourceKind::service, annotated(R"("a.example/x":true,"a.example/y":"1")"), details);
    CPPUNIT_ASSERT_EQUAL(std::string("ok"), test::outcome(decoded));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, decoded.notes.size());
    CPPUNIT_ASSERT_EQUAL(std::string("metadata.annotations[a.example/x]: is not a text; the annotation is ignored"),
                         decoded.notes[0]);
    CPPUNIT_ASSERT_EQUAL(
        std::string("none"),
        text(object<model::Service>(
            ResourceKind::service,
            R"({"metadata":{"name":"w","namespace":"d","uid":5},"spec":{"ports":[{"port":80,"appProtocol":[]}]}})", details)));
  }

  void endpoint_details_are_parallel_to_the_endpoints() {
    CPPUNIT_ASSERT_EQUAL(std::string("z1/p1/u1 /- z3/-"),
                         text(object<model::EndpointSlice>(ResourceKind::endpoint_slice, kSlice,
                                                           wanted({{.endpoints = true}}))));
  }

  void endpoints_have_details_too() {
    Decoder decoder({.endpoints = true, .details = wanted({{.endpoints = true}})});
    const auto decoded = decoder.object(ResourceKind::endpoint_slice,
                                        R"({"metadata":{"name":"web","namespace":"demo"},"subsets":[{"ports":[{"port":80}],
        "addresses":[{"ip":"10.1.0.1","targetRef":{"kind":"Pod","namespace":"demo","name":"p1","uid":"u1"}},{"ip":"fd00::1"}],
        "notReadyAddresses":[{"ip":"10.1.0.2"}]}]})");
    const auto& slices = std::get<Slices>(decoded.result).slices;
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, slices.size());
    CPPUNIT_ASSERT_EQUAL(std::string("/p1/u1 /-"), text(slices[0]));
    CPPUNIT_ASSERT_EQUAL(std::string("/-"), text(slices[1]));
  }

  void protobuf_has_the_same_details() {
    const auto entry = [](const char* key, const char* value) {
      return pb_bytes(12, pb_bytes(1, key) + pb_bytes(2, value));
    };
    const std::string bytes =
        pb_bytes(1, pb_bytes(1, "web") + pb_bytes(3, "demo") + pb_bytes(5, "u-1") + entry("a.example/\"x", "1\n") +
                        entry("b.example/y", "2")) +
        pb_bytes(2, pb_bytes(1, test::pb_number(3, 80) + pb_bytes(6, "http")) + pb_bytes(3, "10.0.0.1"));
    const auto decode_protobuf = [&](const model::WantedDetailsPtr& details) {
      Decoder decoder({.details = details});
      return std::get<model::Service>(
          std::get<Object>(decoder.object(ResourceKind::service, bytes, Encoding::protobuf).result));
    };
    CPPUNIT_ASSERT_EQUAL(std::string("u-1 [http] a.example/\"x=1\n"), text(decode_protobuf(wanted({{true, true, prefixes_a()}}))));
    CPPUNIT_ASSERT_EQUAL(std::string("none"), text(decode_protobuf(nullptr)));
    CPPUNIT_ASSERT_EQUAL(std::string("none"), text(decode_protobuf(wanted({{.endpoints = true}}))));
  }

  // The details of all objects in a recorded list.
  static std::string list_text(const std::string& name, ResourceKind kind, bool endpoints) {
    Decoder decoder({.endpoints = endpoints,
                     .details = wanted({{true, true, model::pack_names({"kubectl.kubernetes.io/", "example.com/"})}})});
    std::string out;
    ListReader reader(decoder, kind, [] {}, [&](Decoded decoded) {
      if (const auto* slices = std::get_if<Slices>(&decoded.result)) {
        for (const auto& slice : slices->slices) out += text(slice) + "\n";
      }
      if (const auto* object = std::get_if<Object>(&decoded.result)) {
        if (const auto* service = std::get_if<model::Service>(object)) out += text(*service) + "\n";
        if (const auto* slice = std::get_if<model::EndpointSlice>(object)) out += text(*slice) + "\n";
      }
      return lib::Status();
    });
    const test::RecordedResponse response = test::recorded(name);
    CPPUNIT_ASSERT_EQUAL(std::string(), reader.on_head({response.status, response.content_type, {}}).message());
    CPPUNIT_ASSERT_EQUAL(std::string(), reader.on_body(response.body).message());
    CPPUNIT_ASSERT(reader.finish().ok());
    return out;
  }

  void recorded_lists_have_the_same_details_in_both_encodings() {
    for (const auto& [name, kind, endpoints] :
         {std::tuple<std::string, ResourceKind, bool>{"encoded-services", ResourceKind::service, false},
          {"encoded-endpointslices", ResourceKind::endpoint_slice, false},
          {"encoded-endpoints", ResourceKind::endpoint_slice, true}}) {
      const std::string expected = list_text(name + "-json", kind, endpoints);
      CPPUNIT_ASSERT_EQUAL(expected, list_text(name + "-protobuf", kind, endpoints));
      // A UID, or the name of a pod.
      CPPUNIT_ASSERT_MESSAGE(expected, expected.find(kind == ResourceKind::service ? "-4" : "/p") != std::string::npos);
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DecodeDetailsTest);

}  // namespace decode_details_test
}  // namespace sluice::kube
