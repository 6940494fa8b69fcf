// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/protobuf_splitter.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <random>
#include <vector>

#include "test/unit/kube/protobuf_bytes.hpp"
#include "test/unit/kube/recorded.hpp"

namespace sluice::kube {
namespace protobuf_splitter_test {

using test::pb_bytes;
using test::pb_number;

struct Pieces {
  std::vector<std::string> objects;  // "+": complete, "-": beyond the limit
  lib::Status status;
  std::string rest;  // of a list
};

// Appends the bytes in chunks of the sizes that `next` returns.
template <class Splitter, class Next, class Finish>
Pieces split(const std::string& bytes, Next&& next, std::size_t limit, bool skips, Finish&& finish) {
  Pieces out;
  const auto note = [&](const char* what) {
    return [&out, what](std::string_view object) {
      out.objects.push_back(what + std::string(object));
      return lib::Status();
    };
  };
  Splitter splitter(note("+"), limit, skips ? ObjectVisitor(note("-")) : ObjectVisitor());
  for (std::size_t at = 0; at < bytes.size() && out.status.ok();) {
    const std::size_t size = std::min<std::size_t>(next(), bytes.size() - at);
    out.status = splitter.append(std::string_view(bytes).substr(at, size));
    at += size;
  }
  if (out.status.ok()) finish(splitter, out);
  return out;
}

template <class Next>
Pieces split_list(const std::string& bytes, Next&& next, std::size_t limit = kMaxObjectBytes, bool skips = false) {
  return split<ProtobufListSplitter>(bytes, next, limit, skips, [](ProtobufListSplitter& splitter, Pieces& out) {
    const auto rest = splitter.finish();
    out.status = rest.status();
    if (rest) out.rest = *rest;
    if (rest) CPPUNIT_ASSERT_EQUAL(out.objects.size(), splitter.items());
  });
}

template <class Next>
Pieces split_frames(const std::string& bytes, Next&& next, std::size_t limit = kMaxObjectBytes, bool skips = false) {
  return split<FrameSplitter>(bytes, next, limit, skips, [](FrameSplitter& splitter, Pieces& out) {
    if (!splitter.at_boundary()) out.status = lib::unavailable("incomplete");
  });
}

std::size_t whole() { return std::string::npos; }
std::size_t single() { return 1; }

std::string list_of(const std::string& fields) {
  return test::pb_unknown("ServiceList", pb_bytes(1, test::pb_list_meta("5", "next")) + fields);
}

std::string list_error(const std::string& bytes) {
  const std::string out = split_list(bytes, whole).status.message();
  CPPUNIT_ASSERT_EQUAL(out, split_list(bytes, single).status.message());
  return out;
}

class ProtobufSplitterTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ProtobufSplitterTest);
  CPPUNIT_TEST(splits_a_list_and_keeps_the_rest);
  CPPUNIT_TEST(splits_frames);
  CPPUNIT_TEST(metadata_may_follow_the_items);
  CPPUNIT_TEST(recorded_lists_are_split_with_any_chunk_size);
  CPPUNIT_TEST(recorded_watches_are_split_with_any_chunk_size);
  CPPUNIT_TEST(truncation_is_an_error_at_every_byte);
  CPPUNIT_TEST(malformed_lists_are_errors);
  CPPUNIT_TEST(objects_beyond_the_limit_are_errors);
  CPPUNIT_TEST(objects_beyond_the_limit_are_skipped);
  CPPUNIT_TEST(only_the_beginning_of_a_huge_object_is_kept);
  CPPUNIT_TEST(an_endless_envelope_is_an_error);
  CPPUNIT_TEST(an_error_of_the_visitor_ends_the_parsing);
  CPPUNIT_TEST(random_bytes_are_handled);
  CPPUNIT_TEST_SUITE_END();

  void splits_a_list_and_keeps_the_rest() {
    for (const auto& next : {whole, single}) {
      const auto got = split_list(list_of(pb_bytes(2, "a") + pb_bytes(2, "") + pb_bytes(2, std::string(300, 'b'))), next);
      CPPUNIT_ASSERT_EQUAL(std::string(), got.status.message());
      CPPUNIT_ASSERT(got.objects == (std::vector<std::string>{"+a", "+", "+" + std::string(300, 'b')}));
      CPPUNIT_ASSERT_EQUAL(std::string(R"({"kind":"ServiceList","metadata":{"resourceVersion":"5","continue":"next"}})"),
                           got.rest);
      CPPUNIT_ASSERT(split_list(list_of(""), next).objects.empty());
      CPPUNIT_ASSERT_EQUAL(std::string(R"({"kind":"ServiceList","metadata":{}})"),
                           split_list(test::pb_unknown("ServiceList", ""), next).rest);
    }
  }

  void splits_frames() {
    for (const auto& next : {whole, single}) {
      const auto got = split_frames(test::pb_frame("a") + test::pb_frame("") + test::pb_frame(std::string(70000, 'b')), next);
      CPPUNIT_ASSERT_EQUAL(std::string(), got.status.message());
      CPPUNIT_ASSERT(got.objects == (std::vector<std::string>{"+a", "+", "+" + std::string(70000, 'b')}));
    }
  }

  void metadata_may_follow_the_items() {
    const std::string unknown_fields = pb_number(9, 1) + pb_bytes(8, "x") + "\x3d" "4444" + "\x39" "88888888";
    for (const auto& next : {whole, single}) {
      const auto got = split_list(std::string(kProtobufMagic) + unknown_fields +
                                      pb_bytes(2, pb_bytes(2, "a") + unknown_fields +
                                                      pb_bytes(1, test::pb_list_meta("5"))) +
                                      unknown_fields + pb_bytes(1, pb_bytes(2, "L")),
                                  next);
      CPPUNIT_ASSERT_EQUAL(std::string(), got.status.message());
      CPPUNIT_ASSERT_EQUAL(std::string(R"({"kind":"L","metadata":{"resourceVersion":"5"}})"), got.rest);
      CPPUNIT_ASSERT(got.objects == std::vector<std::string>{"+a"});
    }
  }

  void recorded_lists_are_split_with_any_chunk_size() {
    std::mt19937 random(11);
    for (const auto& [name, count] : {std::pair<std::string, std::size_t>{"list-services-protobuf", 4},
                                      {"encoded-services-protobuf", 6},
                                      {"encoded-nodes-protobuf", 3}}) {
      const std::string body = test::recorded(name).body;
      const auto expected = split_list(body, whole);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(name, std::string(), expected.status.message());
      CPPUNIT_ASSERT_MESSAGE(name + std::to_string(expected.objects.size()), expected.objects.size() >= count);
      CPPUNIT_ASSERT(split_list(body, single).objects == expected.objects);
      for (int round = 0; round < 20; ++round) {
        const auto got = split_list(body, [&] { return 1 + random() % 300; });
        CPPUNIT_ASSERT(got.objects == expected.objects && got.rest == expected.rest);
      }
    }
  }

  void recorded_watches_are_split_with_any_chunk_size() {
    std::mt19937 random(13);
    for (const char* name : {"encoded-watch-services-protobuf", "encoded-watch-endpointslices-protobuf"}) {
      const std::string body = test::recorded(name).body;
      const auto expected = split_frames(body, whole);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(name, std::string(), expected.status.message());
      CPPUNIT_ASSERT(expected.objects.size() >= 8);
      CPPUNIT_ASSERT(split_frames(body, single).objects == expected.objects);
      CPPUNIT_ASSERT(split_frames(body, [&] { return 1 + random() % 500; }).objects == expected.objects);
    }
  }

  void truncation_is_an_error_at_every_byte() {
    const std::string frames = test::recorded("encoded-watch-services-protobuf").body;
    const std::string body = test::recorded("encoded-services-page-protobuf").body;
    // The last four bytes are two empty fields behind the list.
    CPPUNIT_ASSERT(body.ends_with(std::string("\x1a\x00\x22\x00", 4)));
    for (std::size_t size = 0; size < body.size() - 4; ++size) {
      CPPUNIT_ASSERT(!split_list(body.substr(0, size), whole).status.ok());
    }
    CPPUNIT_ASSERT(split_list(body, whole).status.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("the list ended too early, after 1 complete items"),
                         list_error(list_of(pb_bytes(2, "a") + pb_bytes(2, "b")).substr(0, 40)));
    CPPUNIT_ASSERT(!split_frames(frames.substr(0, 100), whole).status.ok());
    CPPUNIT_ASSERT(!split_frames(frames.substr(0, 3), whole).status.ok());
  }

  void malformed_lists_are_errors() {
    const auto in_list = [](const std::string& fields) {
      return std::string(kProtobufMagic) + pb_bytes(2, fields);
    };
    CPPUNIT_ASSERT_EQUAL(std::string("the list does not begin with the bytes k8s\\0"), list_error("{\"kind\":1}"));
    CPPUNIT_ASSERT_EQUAL(std::string("the list does not begin with the bytes k8s\\0"), list_error("k8s1"));
    CPPUNIT_ASSERT_EQUAL(std::string("the list holds a field of an unknown wire type"), list_error(in_list("\x0b")));
    CPPUNIT_ASSERT_EQUAL(std::string("the list holds a field with an invalid number"), list_error(in_list("\x02z")));
    CPPUNIT_ASSERT_EQUAL(std::string("the list holds a number of more than 64 bits"),
                         list_error(in_list(std::string(30, '\xff'))));
    CPPUNIT_ASSERT_EQUAL(std::string("items[1]: a field is longer than the list"),
                         list_error(in_list(pb_bytes(2, "a") + "\x12\x05" "bc") + "more"));
    CPPUNIT_ASSERT_EQUAL(std::string("items[0]: a field is longer than the list"), list_error(in_list("\x12") + "more"));
    CPPUNIT_ASSERT_EQUAL(std::string("the body holds a second list"), list_error(in_list("") + pb_bytes(2, "")));
    CPPUNIT_ASSERT_EQUAL(std::string("the list is not valid protobuf: metadata ends too early"),
                         list_error(in_list(pb_bytes(1, "\x12"))));
    CPPUNIT_ASSERT_EQUAL(std::string("the list ended too early, after 0 complete items"), list_error(""));
    CPPUNIT_ASSERT_EQUAL(std::string("an object is larger than 256 MiB"),
                         list_error(std::string(kProtobufMagic) + "\x1a" + test::pb_varint(std::uint64_t(-1))));
  }

  void objects_beyond_the_limit_are_errors() {
    const std::string big(600, 'x');
    CPPUNIT_ASSERT(split_list(list_of(pb_bytes(2, big)), whole, 600).status.ok());
    for (const auto& next : {whole, single}) {
      CPPUNIT_ASSERT(!split_list(list_of(pb_bytes(2, big)), next, 599).status.ok());
      CPPUNIT_ASSERT(!split_frames(test::pb_frame(big), next, 599).status.ok());
      CPPUNIT_ASSERT_EQUAL(std::string("a watch event was expected, not one of 1013478509 bytes"),
                           split_frames("<html>", next, 599, true).status.message());
    }
  }

  void objects_beyond_the_limit_are_skipped() {
    const std::string big(600, 'x');
    const std::vector<std::string> expected{"+b", "-" + big, "-" + big, "+c"};
    for (const std::size_t size : {std::size_t(1), std::size_t(7), std::size_t(650), std::string::npos}) {
      const auto next = [size] { return size; };
      CPPUNIT_ASSERT(split_list(list_of(pb_bytes(2, "b") + pb_bytes(2, big) + pb_bytes(2, big) + pb_bytes(2, "c")), next,
                                500, true)
                         .objects == expected);
      CPPUNIT_ASSERT(split_frames(test::pb_frame("b") + test::pb_frame(big) + test::pb_frame(big) + test::pb_frame("c"),
                                  next, 500, true)
                         .objects == expected);
    }
  }

  void only_the_beginning_of_a_huge_object_is_kept() {
    for (const std::size_t size : {std::size_t(1000), std::string::npos}) {
      const auto got = split_frames(test::pb_frame(std::string(20u << 20, 'x')), [&] { return size; }, kMaxObjectBytes, true);
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), got.objects.size());
      CPPUNIT_ASSERT_EQUAL(kKeptOfOversized + 1, got.objects[0].size());
    }
  }

  void an_endless_envelope_is_an_error() {
    const std::string endless(300u << 10, 'x');
    const std::string error = "the list has more than 256 KiB beside its items";
    CPPUNIT_ASSERT_EQUAL(error, list_error(std::string(kProtobufMagic) + pb_bytes(2, pb_bytes(1, endless))));
    CPPUNIT_ASSERT_EQUAL(error, list_error(std::string(kProtobufMagic) + pb_bytes(1, endless)));
  }

  void an_error_of_the_visitor_ends_the_parsing() {
    int visited = 0;
    const auto visit = [&](std::string_view) {
      ++visited;
      return lib::invalid("enough");
    };
    ProtobufListSplitter list(visit);
    CPPUNIT_ASSERT_EQUAL(std::string("enough"), list.append(list_of(pb_bytes(2, "a") + pb_bytes(2, "b"))).message());
    FrameSplitter frames(visit);
    CPPUNIT_ASSERT_EQUAL(std::string("enough"), frames.append(test::pb_frame("a") + test::pb_frame("b")).message());
    CPPUNIT_ASSERT_EQUAL(2, visited);
  }

  void random_bytes_are_handled() {
    std::mt19937 random(17);
    const std::string good = list_of(pb_bytes(2, "abc") + pb_bytes(2, std::string(50, 'x')));
    for (int round = 0; round < 20000; ++round) {
      std::string bytes = good;
      for (std::size_t i = random() % 3 + 1; i > 0; --i) bytes[random() % bytes.size()] = static_cast<char>(random());
      const auto bytewise = split_list(bytes, single, 40, true);
      const auto at_once = split_list(bytes, whole, 40, true);
      CPPUNIT_ASSERT_EQUAL(bytewise.status.message(), at_once.status.message());
      CPPUNIT_ASSERT(bytewise.objects == at_once.objects);
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ProtobufSplitterTest);

}  // namespace protobuf_splitter_test
}  // namespace sluice::kube
