// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/http/accept_header.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

namespace sluice::observe {
namespace accept_header_test {

class AcceptHeaderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(AcceptHeaderTest);
  CPPUNIT_TEST(clauses_are_in_the_order_of_their_q);
  CPPUNIT_TEST(wildcards_match);
  CPPUNIT_TEST(a_long_header_is_read);
  CPPUNIT_TEST_SUITE_END();

  static std::string read(const std::string& header) {
    std::string out;
    for (const auto& clause : parse_accept(header)) {
      out += (out.empty() ? "" : ", ") + clause.type + "/" + clause.subtype;
      for (const auto& [name, value] : clause.parameters) out += ";" + name + "=" + value;
    }
    return out;
  }

  void clauses_are_in_the_order_of_their_q() {
    const struct {
      const char* header;
      const char* wanted;
    } rows[] = {
        {"", ""},
        {" , ;, /, a/, /b, a, ;a=b", ""},
        {"text/plain", "text/plain"},
        {" text / plain ; v = 1 ;x;=;w= ", "text/plain;=;v=1;w="},
        {"a/b;q=0.1, c/d;q=0.9, e/f, g/h", "e/f, g/h, c/d, a/b"},
        {"a/b;q=x, c/d", "c/d, a/b"},
        {"a/b;q=0.5;v=1;v=2", "a/b;v=1"},
        {"a/b/c;d=e=f", "a/b/c;d=e=f"},
    };
    for (const auto& row : rows) CPPUNIT_ASSERT_EQUAL_MESSAGE(row.header, std::string(row.wanted), read(row.header));
  }

  void wildcards_match() {
    const auto matches = [](const std::string& header) { return parse_accept(header).at(0).matches("text", "plain"); };
    for (const char* yes : {"text/plain", "text/*", "*/*"}) CPPUNIT_ASSERT_MESSAGE(yes, matches(yes));
    for (const char* no : {"*/plain", "text/html", "image/*"}) CPPUNIT_ASSERT_MESSAGE(no, !matches(no));
  }

  void a_long_header_is_read() {
    std::string header;
    for (int i = 0; i < 1000; ++i) header += "a/b;q=0.5,";
    CPPUNIT_ASSERT_EQUAL(std::size_t(1000), parse_accept(header).size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(AcceptHeaderTest);

}  // namespace accept_header_test
}  // namespace sluice::observe
