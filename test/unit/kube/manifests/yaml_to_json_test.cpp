// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/manifests/yaml_to_json.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <random>

#include "core/kube/decode/decode.hpp"
#include "core/kube/manifests/yaml_line.hpp"

namespace sluice::kube {
namespace yaml_to_json_test {

std::string json(const std::string& yaml) {
  const auto stream = yaml_to_json(yaml);
  if (!stream.errors.empty()) return "error: " + stream.errors[0].problem;
  std::string out;
  for (const auto& document : stream.documents) out += (out.empty() ? "" : "\n") + document.json;
  return out;
}

class YamlToJsonTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(YamlToJsonTest);
  CPPUNIT_TEST(plain_scalars_are_typed_by_the_core_schema);
  CPPUNIT_TEST(quoted_scalars_are_strings);
  CPPUNIT_TEST(addresses_and_times_are_strings);
  CPPUNIT_TEST(strings_are_escaped);
  CPPUNIT_TEST(collections_can_be_nested);
  CPPUNIT_TEST(empty_documents_are_counted);
  CPPUNIT_TEST(anchors_are_resolved);
  CPPUNIT_TEST(documents_that_kubernetes_rejects_are_rejected);
  CPPUNIT_TEST(an_alias_bomb_is_rejected);
  CPPUNIT_TEST(a_stray_bracket_is_an_error);
  CPPUNIT_TEST(text_that_is_not_utf8_is_an_error_with_its_line);
  CPPUNIT_TEST(errors_have_a_line);
  CPPUNIT_TEST(lines_of_fields_are_found);
  CPPUNIT_TEST(random_text_is_handled);
  CPPUNIT_TEST_SUITE_END();

  void plain_scalars_are_typed_by_the_core_schema() {
    CPPUNIT_ASSERT_EQUAL(std::string("[null,null,null,null]"), json("[~, null, NULL, Null]"));
    CPPUNIT_ASSERT_EQUAL(std::string("[true,true,false,\"yes\",\"on\",\"n\"]"),
                         json("[true, TRUE, False, yes, on, n]"));
    CPPUNIT_ASSERT_EQUAL(std::string("[80,-80,80,10,31,15,9223372036854775807]"),
                         json("[80, -80, +80, 010, 0x1F, 0o17, 9223372036854775807]"));
    CPPUNIT_ASSERT_EQUAL(std::string("[1.5,0.5,80.0,1e+100,\"1.2.3\",\"0b1\",\"1_000\"]"),
                         json("[1.5, .5, 80., 1e100, 1.2.3, 0b1, 1_000]"));
    CPPUNIT_ASSERT_EQUAL(std::string("{\"a\":null,\"b\":1}"), json("a:\nb: 1"));
    CPPUNIT_ASSERT_EQUAL(std::string("error: the number 9223372036854775808 is too large"),
                         json("[9223372036854775808]"));
    CPPUNIT_ASSERT_EQUAL(std::string("error: the number 1e999 is too large"), json("[1e999]"));
  }

  void quoted_scalars_are_strings() {
    CPPUNIT_ASSERT_EQUAL(std::string("[\"80\",\"true\",\"\",\"null\"]"), json("['80', \"true\", '', \"null\"]"));
    CPPUNIT_ASSERT_EQUAL(std::string("[\"80\",80]"), json("[!!str 80, !!int '80']"));
    CPPUNIT_ASSERT_EQUAL(std::string("{\"a\":\"8080\\u000a\"}"), json("a: |\n  8080\n"));
  }

  void addresses_and_times_are_strings() {
    CPPUNIT_ASSERT_EQUAL(std::string("{\"a\":\"10.96.0.1\",\"b\":\"fd00::1\",\"c\":\"10.0.0.0/"
                                     "8\",\"d\":\"2026-11-21T00:11:20Z\",\"e\":\"None\"}"),
                         json("a: 10.96.0.1\nb: fd00::1\nc: 10.0.0.0/8\nd: 2026-11-21T00:11:20Z\ne: None"));
  }

  void strings_are_escaped() {
    CPPUNIT_ASSERT_EQUAL(std::string("[\"a\\\"b\\\\c\\u0009d\\u0007\"]"), json("[\"a\\\"b\\\\c\\td\\a\"]"));
    CPPUNIT_ASSERT_EQUAL(std::string("{\"k\\\"\":\"\xc3\xa4\"}"), json("'k\"': \xc3\xa4"));
  }

  void collections_can_be_nested() {
    CPPUNIT_ASSERT_EQUAL(std::string("{\"a\":[{\"b\":[],\"c\":{}},[1,[2]]],\"80\":\"x\"}"),
                         json("a:\n- b: []\n  c: {}\n- - 1\n  - [2]\n80: x"));
  }

  void empty_documents_are_counted() {
    const auto stream = yaml_to_json("# nothing\n---\na: 1\n---\n---\n# still nothing\n---\n\nb: 2\n...\n");
    CPPUNIT_ASSERT(stream.errors.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), stream.documents.size());
    CPPUNIT_ASSERT_EQUAL(1, stream.documents[0].number);
    CPPUNIT_ASSERT_EQUAL(3, stream.documents[0].line);
    CPPUNIT_ASSERT_EQUAL(4, stream.documents[1].number);
    CPPUNIT_ASSERT_EQUAL(9, stream.documents[1].line);
    CPPUNIT_ASSERT(yaml_to_json("").documents.empty());
    CPPUNIT_ASSERT(yaml_to_json("---\n---\n").documents.empty());
  }

  void anchors_are_resolved() {
    CPPUNIT_ASSERT_EQUAL(std::string("{\"a\":{\"x\":[1]},\"b\":{\"x\":[1]},\"c\":\"t\",\"d\":\"t\"}"),
                         json("a: &m {x: [1]}\nb: *m\nc: &t t\nd: *t"));
    CPPUNIT_ASSERT_EQUAL(std::string("error: the alias refers to a value that contains it"), json("a: &m [*m]"));
  }

  void documents_that_kubernetes_rejects_are_rejected() {
    CPPUNIT_ASSERT_EQUAL(std::string("error: the key \"a\" occurs twice"), json("a: 1\nb: 2\na: 3"));
    CPPUNIT_ASSERT_EQUAL(std::string("error: merge keys (<<) are not supported; write the fields out"),
                         json("a: &m {x: 1}\nb: {<<: *m}"));
    CPPUNIT_ASSERT_EQUAL(std::string("error: a key must be a text"), json("? [1]\n: 2"));
    CPPUNIT_ASSERT_EQUAL(std::string("{\"a\":{\"a\":1},\"b\":{\"a\":1}}"), json("a: {a: 1}\nb: {a: 1}"));
  }

  void an_alias_bomb_is_rejected() {
    std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 12; ++i) {
      const std::string before = "*a" + std::to_string(i - 1);
      bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
      for (int k = 0; k < 10; ++k) bomb += (k == 0 ? "" : ",") + before;
      bomb += "]\n";
    }
    CPPUNIT_ASSERT_EQUAL(std::string("error: the document is too large once its aliases are resolved"), json(bomb));
  }

  void a_stray_bracket_is_an_error() {
    // Here yaml-cpp 0.7 reports empty documents without end.
    for (const char* text : {"}", "]", "a: 1\n---\n}", "[a]\n]"}) {
      CPPUNIT_ASSERT_MESSAGE(text, !yaml_to_json(text).errors.empty());
      CPPUNIT_ASSERT_EQUAL(0, yaml_line_of(text, 100, "a"));
    }
  }

  void text_that_is_not_utf8_is_an_error_with_its_line() {
    for (const std::string text : {"a: 1\nb: te\xf7xt", "a: 1\n\"te\xf7xt\": b"}) {
      const YamlStream stream = yaml_to_json(text);
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, stream.errors.size());
      CPPUNIT_ASSERT_EQUAL(std::string("the text is not valid UTF-8"), stream.errors[0].problem);
      CPPUNIT_ASSERT_EQUAL(2, stream.errors[0].line);
      CPPUNIT_ASSERT(stream.documents.empty());
    }
    CPPUNIT_ASSERT_EQUAL(std::string("{\"a\":\"gr\u00fc\u00df\"}"), json("a: gr\u00fc\u00df"));
  }

  void errors_have_a_line() {
    const auto stream = yaml_to_json("a: 1\n---\nb: 2\n---\nc: 3\nc: 4\n");
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), stream.documents.size());
    CPPUNIT_ASSERT_EQUAL(3, stream.errors.at(0).document);
    CPPUNIT_ASSERT_EQUAL(6, stream.errors[0].line);
    CPPUNIT_ASSERT_EQUAL(2, yaml_to_json("a: b\n\tc: d\n").errors.at(0).line);
  }

  void lines_of_fields_are_found() {
    const std::string text =
        "kind: A\n---\nmetadata:\n  labels:\n    kubernetes.io/x: y\nspec:\n  ports:\n  - name: a\n  - name: b\n    "
        "port: 0\n";
    CPPUNIT_ASSERT_EQUAL(10, yaml_line_of(text, 2, "spec.ports[1].port"));
    CPPUNIT_ASSERT_EQUAL(5, yaml_line_of(text, 2, "metadata.labels[kubernetes.io/x]"));
    CPPUNIT_ASSERT_EQUAL(8, yaml_line_of(text, 2, "spec.ports[0].port"));
    CPPUNIT_ASSERT_EQUAL(7, yaml_line_of(text, 2, "spec.ports[9].port"));
    CPPUNIT_ASSERT_EQUAL(6, yaml_line_of(text, 2, "spec.clusterIP"));
    CPPUNIT_ASSERT_EQUAL(1, yaml_line_of(text, 1, "x.y"));
    CPPUNIT_ASSERT_EQUAL(0, yaml_line_of(text, 3, "x"));
    CPPUNIT_ASSERT_EQUAL(0, yaml_line_of("a: [", 1, "x"));
    for (const char* odd : {"", "[", "]", ".", "..", "[]", "a[", "a].b"})
      CPPUNIT_ASSERT(yaml_line_of(text, 2, odd) >= 0);
  }

  void random_text_is_handled() {
    std::mt19937 random(23);
    const std::string alphabet = "ab:-?&*!|>'\"{}[],#%@`~ \n\n\t.0<\\\x80";
    Decoder decoder;
    for (int round = 0; round < 5000; ++round) {
      std::string text;
      for (std::size_t i = random() % 40; i > 0; --i) text += alphabet[random() % alphabet.size()];
      CPPUNIT_ASSERT(yaml_line_of(text, 3, "a.b") >= 0);
      // The output is JSON, unless the input was not UTF-8.
      for (const auto& document : yaml_to_json(text).documents) {
        if (text.find('\x80') == std::string::npos)
          CPPUNIT_ASSERT_MESSAGE(text, decoder.head("{\"a\":" + document.json + "}").ok());
      }
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(YamlToJsonTest);

}  // namespace yaml_to_json_test
}  // namespace sluice::kube
