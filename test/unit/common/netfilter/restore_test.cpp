// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/restore.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

namespace sluice::netfilter {
namespace restore_test {

class RestoreTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RestoreTest);
  CPPUNIT_TEST(orders_tables_and_their_lines);
  CPPUNIT_TEST(omits_tables_without_lines);
  CPPUNIT_TEST(finds_the_line_and_its_owner);
  CPPUNIT_TEST(finds_the_commit_of_a_line);
  CPPUNIT_TEST(a_part_is_one_commit_of_some_owners);
  CPPUNIT_TEST(insertions_can_be_undone);
  CPPUNIT_TEST(reads_the_number_of_the_failed_line);
  CPPUNIT_TEST_SUITE_END();

  static RestoreInput example() {
    RestoreInput input;
    input.set_owner("ns/b");
    input.remove_chain(Table::kNat, "OLD");
    input.append(Table::kNat, "NEW", "-j ACCEPT");
    input.insert(Table::kNat, "SHARED", "-j NEW");
    input.set_owner("ns/a");
    input.remove(Table::kNat, "SHARED", "-j OLD");
    input.declare(Table::kNat, "NEW");
    input.remove(Table::kFilter, "SHARED", "-j REJECT");
    return input;
  }

  void orders_tables_and_their_lines() {
    CPPUNIT_ASSERT_EQUAL(std::string("*nat\n:NEW - [0:0]\n-D SHARED -j OLD\n-A NEW -j ACCEPT\n-I SHARED -j NEW\n"
                                     "-X OLD\nCOMMIT\n"
                                     "*filter\n-D SHARED -j REJECT\nCOMMIT\n"),
                         example().text());
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, example().lines());
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, example().lines(Table::kNat));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, example().commits());
  }

  void omits_tables_without_lines() {
    RestoreInput input;
    CPPUNIT_ASSERT(input.empty());
    CPPUNIT_ASSERT_EQUAL(std::string(), input.text());
    input.declare(Table::kMangle, "C");
    CPPUNIT_ASSERT_EQUAL(std::string("*mangle\n:C - [0:0]\nCOMMIT\n"), input.text());
  }

  void finds_the_line_and_its_owner() {
    const RestoreInput input = example();
    const auto is = [&](std::size_t number, const std::string& text, const std::string& owner) {
      const auto line = input.find_line(number);
      return line && line->text == text && input.owner_name(line->owner) == owner;
    };
    CPPUNIT_ASSERT(!input.find_line(0) && !input.find_line(1));
    CPPUNIT_ASSERT(is(2, ":NEW - [0:0]", "ns/a"));
    CPPUNIT_ASSERT(is(3, "-D SHARED -j OLD", "ns/a"));
    CPPUNIT_ASSERT(is(4, "-A NEW -j ACCEPT", "ns/b"));
    CPPUNIT_ASSERT(is(5, "-I SHARED -j NEW", "ns/b"));
    CPPUNIT_ASSERT(is(6, "-X OLD", "ns/b"));
    CPPUNIT_ASSERT(!input.find_line(7) && !input.find_line(8));
    CPPUNIT_ASSERT(is(9, "-D SHARED -j REJECT", "ns/a"));
    CPPUNIT_ASSERT(!input.find_line(10) && !input.find_line(11) && !input.find_line(999));
  }

  void finds_the_commit_of_a_line() {
    const RestoreInput input = example();
    CPPUNIT_ASSERT(!input.find_commit(0));
    for (std::size_t line = 1; line <= 7; ++line) CPPUNIT_ASSERT(input.find_commit(line) == std::size_t{0});
    for (std::size_t line = 8; line <= 10; ++line) CPPUNIT_ASSERT(input.find_commit(line) == std::size_t{1});
    CPPUNIT_ASSERT(!input.find_commit(11));
  }

  void a_part_is_one_commit_of_some_owners() {
    RestoreInput input;
    input.declare(Table::kFilter, "COMMON");
    input.set_owner("ns/a");
    input.insert(Table::kFilter, "COMMON", "-j REJECT");
    input.append(Table::kNat, "A", "-j ACCEPT");
    input.set_owner("ns/b");
    input.declare(Table::kNat, "B");
    input.set_owner({});
    input.append(Table::kNat, "COMMON", "-j A");
    input.set_leftovers();
    input.remove(Table::kNat, "COMMON", "-j OLD");
    const auto part = [&](std::size_t commit, RestoreInput::Owner owner) {
      return input.part(commit, [&](RestoreInput::Owner given) { return given == owner; }).text();
    };
    CPPUNIT_ASSERT_EQUAL(std::string("ns/b"), input.owner_name(input.owners_end() - 1));
    CPPUNIT_ASSERT_EQUAL(std::string("*filter\n:COMMON - [0:0]\nCOMMIT\n"), part(0, RestoreInput::kCommon));
    CPPUNIT_ASSERT_EQUAL(std::string("*nat\n-A COMMON -j A\nCOMMIT\n"), part(1, RestoreInput::kCommon));
    CPPUNIT_ASSERT_EQUAL(std::string("*nat\n-D COMMON -j OLD\nCOMMIT\n"), part(1, RestoreInput::kLeftovers));
    CPPUNIT_ASSERT_EQUAL(std::string("*nat\n-A A -j ACCEPT\nCOMMIT\n"), part(1, RestoreInput::kFirstOwner));
    CPPUNIT_ASSERT_EQUAL(std::string(), part(0, RestoreInput::kFirstOwner + 1));
  }

  void insertions_can_be_undone() {
    const RestoreInput undo = example().undo_insertions(
        [](RestoreInput::Owner owner, std::size_t commit) { return owner == RestoreInput::kFirstOwner && commit == 0; });
    CPPUNIT_ASSERT_EQUAL(std::string("*nat\n-D SHARED -j NEW\nCOMMIT\n"), undo.text());
  }

  void reads_the_number_of_the_failed_line() {
    const auto number = [](std::string_view error_output) { return failed_line(error_output).value_or(0); };
    CPPUNIT_ASSERT_EQUAL(std::size_t{12}, number("iptables-restore: line 12 failed\n"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2},
                         number("iptables-restore: line 2 failed: No chain/target/match by that name."));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, number("iptables-restore v1.8.9 (nf_tables): \nline 4: CHAIN_DEL failed "
                                                "(Device or resource busy): chain A"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, number("iptables-restore v1.8.9 (nf_tables): Chain 'NOPE' does not exist\n"
                                                "Error occurred at line: 3\nTry 'iptables-restore -h'"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, number("Another app is currently holding the xtables lock."));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, number("line 99999999999999999999999 failed"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, number("line -1 failed"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, number(""));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RestoreTest);

}  // namespace restore_test
}  // namespace sluice::netfilter
