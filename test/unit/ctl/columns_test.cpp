// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/columns.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

namespace sluice::ctl {
namespace columns_test {

class CtlColumnsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CtlColumnsTest);
  CPPUNIT_TEST(columns_are_as_wide_as_their_longest_cell);
  CPPUNIT_TEST(numbers_are_aligned_to_the_right);
  CPPUNIT_TEST(notes_are_outside_of_the_columns);
  CPPUNIT_TEST_SUITE_END();

 public:
  void columns_are_as_wide_as_their_longest_cell() {
    Columns table({"A", "B"});
    table.add({"long cell", "x"});
    table.add({"s", ""});
    CPPUNIT_ASSERT_EQUAL(std::string("A          B\nlong cell  x\ns\n"), table.text());
  }
  void numbers_are_aligned_to_the_right() {
    Columns table({"NAME", "N", "BYTES"}, 1);
    table.add({"a", "100", "7"});
    CPPUNIT_ASSERT_EQUAL(std::string("NAME    N  BYTES\na     100      7\n"), table.text());
  }
  void notes_are_outside_of_the_columns() {
    Columns table({"A", "B"});
    table.add({"1", "2"});
    table.add_note("  a note that is longer than both columns");
    CPPUNIT_ASSERT_EQUAL(std::string("A  B\n1  2\n  a note that is longer than both columns\n"), table.text());
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(CtlColumnsTest);

}  // namespace columns_test
}  // namespace sluice::ctl
