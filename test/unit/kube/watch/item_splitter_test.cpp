// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/item_splitter.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/kube/decode/decode.hpp"
#include "test/unit/kube/recorded.hpp"

namespace sluice::kube {
namespace item_splitter_test {

struct Pieces {
  std::vector<std::string> objects;
  lib::Status status;
  std::string rest;  // of a list
};

// Appends `text` in chunks of the sizes that `next` returns.
template <class Next>
Pieces split_list(const std::string& text, Next&& next, std::size_t limit = kMaxObjectBytes) {
  Pieces out;
  ListSplitter splitter(
      [&](std::string_view object) {
        out.objects.emplace_back(object);
        return lib::Status();
      },
      limit);
  for (std::size_t at = 0; at < text.size() && out.status.ok();) {
    const std::size_t size = std::min<std::size_t>(next(), text.size() - at);
    out.status = splitter.append(std::string_view(text).substr(at, size));
    at += size;
  }
  if (!out.status.ok()) return out;
  const auto rest = splitter.finish();
  out.status = rest.status();
  if (rest) out.rest = *rest;
  return out;
}

template <class Next>
Pieces split_documents(const std::string& text, Next&& next, std::size_t limit = kMaxObjectBytes) {
  Pieces out;
  DocumentSplitter splitter(
      [&](std::string_view object) {
        out.objects.emplace_back(object);
        return lib::Status();
      },
      limit);
  for (std::size_t at = 0; at < text.size() && out.status.ok();) {
    const std::size_t size = std::min<std::size_t>(next(), text.size() - at);
    out.status = splitter.append(std::string_view(text).substr(at, size));
    at += size;
  }
  if (out.status.ok() && !splitter.at_boundary()) out.status = lib::unavailable("incomplete");
  return out;
}

std::size_t whole() { return std::string::npos; }
std::size_t single() { return 1; }

class ItemSplitterTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ItemSplitterTest);
  CPPUNIT_TEST(splits_a_list_and_keeps_the_rest);
  CPPUNIT_TEST(braces_and_quotes_inside_strings_do_not_count);
  CPPUNIT_TEST(only_the_top_level_items_are_split);
  CPPUNIT_TEST(lists_may_have_no_items);
  CPPUNIT_TEST(chunks_of_any_size_give_the_same_result);
  CPPUNIT_TEST(recorded_lists_are_split_with_any_chunk_size);
  CPPUNIT_TEST(recorded_watches_are_split_with_any_chunk_size);
  CPPUNIT_TEST(truncation_is_an_error_at_every_byte);
  CPPUNIT_TEST(broken_lists_are_errors);
  CPPUNIT_TEST(objects_beyond_the_limit_are_errors);
  CPPUNIT_TEST(objects_beyond_the_limit_are_skipped);
  CPPUNIT_TEST(only_the_beginning_of_a_huge_object_is_kept);
  CPPUNIT_TEST(an_endless_envelope_is_an_error);
  CPPUNIT_TEST(an_error_of_the_visitor_ends_the_parsing);
  CPPUNIT_TEST(documents_may_be_separated_by_white_space);
  CPPUNIT_TEST(text_between_documents_is_an_error);
  CPPUNIT_TEST(random_bytes_are_handled);
  CPPUNIT_TEST_SUITE_END();

  void splits_a_list_and_keeps_the_rest() {
    for (const auto& next : {whole, single}) {
      const auto got = split_list(
          "{\"kind\":\"L\" , \"items\" :\n[ {\"a\":1} ,{\"b\":[{}]}\n], \"metadata\":{\"resourceVersion\":\"5\"}}\n",
          next);
      CPPUNIT_ASSERT_MESSAGE(got.status.message(), got.status.ok());
      CPPUNIT_ASSERT_EQUAL(std::size_t(2), got.objects.size());
      CPPUNIT_ASSERT_EQUAL(std::string("{\"a\":1}"), got.objects[0]);
      CPPUNIT_ASSERT_EQUAL(std::string("{\"b\":[{}]}"), got.objects[1]);
      CPPUNIT_ASSERT_EQUAL(std::string("{\"kind\":\"L\" , \"items\" :\n[], \"metadata\":{\"resourceVersion\":\"5\"}}"),
                           got.rest);
    }
  }

  void braces_and_quotes_inside_strings_do_not_count() {
    for (const auto& next : {whole, single}) {
      const auto got = split_list(R"({"items":[{"a":"}]\"{\\"},{"b\"}":"\\\\\""}],"x":"items\":[{"})", next);
      CPPUNIT_ASSERT_MESSAGE(got.status.message(), got.status.ok());
      CPPUNIT_ASSERT_EQUAL(std::size_t(2), got.objects.size());
      CPPUNIT_ASSERT_EQUAL(std::string(R"({"a":"}]\"{\\"})"), got.objects[0]);
    }
  }

  void only_the_top_level_items_are_split() {
    const auto got =
        split_list(R"({"metadata":{"items":[{"x":1}]},"other":[{"y":1}],"items":[{"z":{"items":[1]}}]})", single);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), got.objects.size());
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"z":{"items":[1]}})"), got.objects[0]);
    // "items" as a value is not a key.
    CPPUNIT_ASSERT(split_list(R"({"kind":"items","x":[{"a":1}]})", single).objects.empty());
  }

  void lists_may_have_no_items() {
    CPPUNIT_ASSERT(split_list(R"({"items":null})", single).status.ok());
    CPPUNIT_ASSERT(split_list(R"({"items":[]})", single).status.ok());
    CPPUNIT_ASSERT(split_list(R"({"kind":"x"})", single).status.ok());
  }

  void chunks_of_any_size_give_the_same_result() {
    std::mt19937 random(7);
    std::string text = R"({"kind":"L","metadata":{"resourceVersion":"1"},"items":[)";
    for (int i = 0; i < 50; ++i) {
      text += (i == 0 ? "" : ",") + std::string("{\"n\":\"") + std::string(random() % 60, 'a') + "\\\"}\",\"v\":[" +
              std::to_string(i) + "]}";
    }
    text += "]}";
    const auto expected = split_list(text, whole);
    CPPUNIT_ASSERT_EQUAL(std::size_t(50), expected.objects.size());
    for (int round = 0; round < 200; ++round) {
      const auto got = split_list(text, [&] { return 1 + random() % 40; });
      CPPUNIT_ASSERT(got.objects == expected.objects);
      CPPUNIT_ASSERT_EQUAL(expected.rest, got.rest);
    }
  }

  void recorded_lists_are_split_with_any_chunk_size() {
    std::mt19937 random(11);
    const std::vector<std::pair<std::string, std::size_t>> lists = {{"list-services", 6},
                                                                    {"list-endpointslices", 5},
                                                                    {"list-endpointslices-large-page1-limit100", 100},
                                                                    {"list-services-page1-limit2", 2}};
    for (const auto& [name, count] : lists) {
      const std::string body = test::recorded(name).body;
      const auto expected = split_list(body, whole);
      CPPUNIT_ASSERT_MESSAGE(name, expected.status.ok());
      CPPUNIT_ASSERT_EQUAL_MESSAGE(name, count, expected.objects.size());
      const auto kind = name.find("services") != std::string::npos ? model::ResourceKind::service
                                                                   : model::ResourceKind::endpoint_slice;
      Decoder decoder;
      for (const auto& object : expected.objects) {
        CPPUNIT_ASSERT_MESSAGE(object, std::holds_alternative<Object>(decoder.object(kind, object).result));
      }
      CPPUNIT_ASSERT_MESSAGE(name, !decoder.list_envelope(expected.rest)->resource_version.empty());
      CPPUNIT_ASSERT(split_list(body, single).objects == expected.objects);
      CPPUNIT_ASSERT(split_list(body, [&] { return 1 + random() % 3000; }).objects == expected.objects);
    }
  }

  void recorded_watches_are_split_with_any_chunk_size() {
    std::mt19937 random(13);
    for (const char* name : {"watch-services", "watch-endpointslices", "watch-endpointslices-with-bookmarks-70s",
                             "watch-too-old-resource-version", "watchlist-services-sendinitialevents"}) {
      const std::string body = test::recorded(name).body;
      const auto expected = split_documents(body, whole);
      CPPUNIT_ASSERT_MESSAGE(name, expected.status.ok());
      CPPUNIT_ASSERT(!expected.objects.empty());
      const bool slices = std::string(name).find("endpointslices") != std::string::npos;
      const auto kind = slices ? model::ResourceKind::endpoint_slice : model::ResourceKind::service;
      Decoder decoder;
      for (const auto& object : expected.objects) {
        const auto event = decoder.watch_event(kind, object);
        CPPUNIT_ASSERT_MESSAGE(object, event.ok() && event->type != WatchEvent::Type::unknown);
      }
      CPPUNIT_ASSERT(split_documents(body, single).objects == expected.objects);
      CPPUNIT_ASSERT(split_documents(body, [&] { return 1 + random() % 500; }).objects == expected.objects);
    }
  }

  void truncation_is_an_error_at_every_byte() {
    std::string body = test::recorded("list-services-page1-limit2").body;
    while (body.back() != '}') body.pop_back();
    for (std::size_t size = 0; size < body.size(); ++size) {
      CPPUNIT_ASSERT(!split_list(body.substr(0, size), whole).status.ok());
    }
    CPPUNIT_ASSERT(split_list(body, whole).status.ok());
  }

  void broken_lists_are_errors() {
    for (const char* text :
         {"[]", "x", "{}{}", "{} x", R"({"items":[5]})", R"({"items":["a"]})", R"({"items":[{}{}]})",
          R"({"items":[,{}]})", R"({"items":[{},]})", R"({"items":[[{}]]})", "<html>", R"({"items":[null]})"}) {
      CPPUNIT_ASSERT_MESSAGE(text, !split_list(text, single).status.ok());
    }
    CPPUNIT_ASSERT_EQUAL(std::string("items[1]: an object was expected, not '5'"),
                         split_list(R"({"items":[{},5]})", whole).status.message());
  }

  void objects_beyond_the_limit_are_errors() {
    const std::string big = R"({"a":")" + std::string(1000, 'x') + "\"}";
    CPPUNIT_ASSERT(split_list(R"({"items":[)" + big + "]}", whole, 2000).status.ok());
    CPPUNIT_ASSERT(!split_list(R"({"items":[)" + big + "]}", whole, 500).status.ok());
    CPPUNIT_ASSERT(!split_list(R"({"items":[)" + big + "]}", single, 500).status.ok());
    CPPUNIT_ASSERT(!split_documents(big, single, 500).status.ok());
    // Also an object that never ends.
    CPPUNIT_ASSERT(!split_documents(std::string(1000, '{'), single, 500).status.ok());
  }

  void objects_beyond_the_limit_are_skipped() {
    const std::string big = R"({"a":")" + std::string(1000, 'x') + "\"}";
    for (const std::size_t size : {std::size_t(1), std::size_t(7), std::size_t(600), std::string::npos}) {
      std::vector<std::string> visited;
      const auto note = [&](const char* what) {
        return [&visited, what](std::string_view object) {
          visited.push_back(what + std::string(object.substr(0, 6)));
          return lib::Status();
        };
      };
      const auto append = [&](auto& splitter, std::string_view text) {
        for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
          CPPUNIT_ASSERT(splitter.append(text.substr(0, size)).ok());
        }
      };
      ListSplitter list(note("whole "), 500, note("big "));
      append(list, R"({"items":[{"b":1},)" + big + "," + big + R"(,{"c":1}],"kind":"L"})");
      CPPUNIT_ASSERT(list.finish().ok());
      CPPUNIT_ASSERT_EQUAL(std::size_t(4), list.items());
      DocumentSplitter documents(note("whole "), 500, note("big "));
      append(documents, big + R"({"b":1})" + big + R"({"c":1})");
      CPPUNIT_ASSERT(documents.at_boundary());
      const std::vector<std::string> expected{"whole {\"b\":1", "big {\"a\":\"",  "big {\"a\":\"", "whole {\"c\":1",
                                              "big {\"a\":\"",  "whole {\"b\":1", "big {\"a\":\"", "whole {\"c\":1"};
      CPPUNIT_ASSERT(visited == expected);
    }
  }

  void only_the_beginning_of_a_huge_object_is_kept() {
    std::size_t kept = 0;
    DocumentSplitter documents([](std::string_view) { return lib::Status(); }, kMaxObjectBytes,
                               [&](std::string_view beginning) {
                                 kept = beginning.size();
                                 return lib::Status();
                               });
    const std::string piece(1u << 20, 'x');
    CPPUNIT_ASSERT(documents.append("{\"a\":\"").ok());
    for (int i = 0; i < 20; ++i) CPPUNIT_ASSERT(documents.append(piece).ok());
    CPPUNIT_ASSERT(documents.append("\"}").ok());
    CPPUNIT_ASSERT_EQUAL(kKeptOfOversized, kept);
    // An object that never ends is an error nevertheless.
    lib::Status status = documents.append("{\"a\":\"");
    for (int i = 0; i < 300 && status.ok(); ++i) status = documents.append(piece);
    CPPUNIT_ASSERT_EQUAL(std::string("an object is larger than 256 MiB"), status.message());
  }

  void an_endless_envelope_is_an_error() {
    CPPUNIT_ASSERT(!split_list("{\"metadata\":\"" + std::string(1u << 20, 'x') + "\"}", whole).status.ok());
  }

  void an_error_of_the_visitor_ends_the_parsing() {
    int visited = 0;
    ListSplitter splitter([&](std::string_view) {
      ++visited;
      return lib::invalid("enough");
    });
    CPPUNIT_ASSERT_EQUAL(std::string("enough"), splitter.append(R"({"items":[{},{},{}]})").message());
    CPPUNIT_ASSERT_EQUAL(1, visited);
  }

  void documents_may_be_separated_by_white_space() {
    for (const auto& next : {whole, single}) {
      const auto got = split_documents("{\"a\":1}{\"b\":2}\r\n \t{\"c\":{}}\n\n", next);
      CPPUNIT_ASSERT(got.status.ok());
      CPPUNIT_ASSERT_EQUAL(std::size_t(3), got.objects.size());
    }
  }

  void text_between_documents_is_an_error() {
    for (const char* text : {"{},{}", "{}x", "[1]", "\"a\"", "\xef\xbb\xbf{}"}) {
      CPPUNIT_ASSERT_MESSAGE(text, !split_documents(text, single).status.ok());
    }
  }

  void random_bytes_are_handled() {
    std::mt19937 random(17);
    const std::string alphabet = "{}[]\",:\\ items\n\x01\xff";
    for (int round = 0; round < 3000; ++round) {
      std::string text = round % 2 == 0 ? R"({"items":[)" : "";
      for (std::size_t i = random() % 60; i > 0; --i) text += alphabet[random() % alphabet.size()];
      const auto bytes = split_list(text, single, 40);
      const auto at_once = split_list(text, whole, 40);
      CPPUNIT_ASSERT_EQUAL(bytes.status.ok(), at_once.status.ok());
      CPPUNIT_ASSERT(bytes.objects == at_once.objects);
      split_documents(text, single, 40);
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ItemSplitterTest);

}  // namespace item_splitter_test
}  // namespace sluice::kube
