// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Slots of endpoints, and how few of them change.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "plugins/nftables/model/affinity.hpp"
#include "plugins/nftables/model/slots.hpp"

namespace sluice::test {
namespace slots_test {

using namespace nftables;

// Endpoints are letters.
std::vector<EndpointAddress> list(const std::string& letters) {
  std::vector<EndpointAddress> made;
  for (const char letter : letters) {
    EndpointAddress endpoint;
    if (letter != ' ') endpoint.port = static_cast<std::uint16_t>(letter);
    made.push_back(endpoint);
  }
  return made;
}

std::string slots(const std::string& before, const std::string& wanted) {
  std::string text;
  for (const EndpointAddress& endpoint : assign_slots(list(before), list(wanted))) {
    text += static_cast<char>(endpoint.port);
  }
  return text;
}

class NftablesSlotsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesSlotsTest);
  CPPUNIT_TEST(the_first_time_in_their_order);
  CPPUNIT_TEST(nothing_moves_without_need);
  CPPUNIT_TEST(the_last_one_moves_into_a_hole);
  CPPUNIT_TEST(any_previous_order);
  CPPUNIT_TEST(one_change_moves_at_most_one_other);
  CPPUNIT_TEST(tokens_stay_and_are_not_used_again_soon);
  CPPUNIT_TEST(tokens_of_a_listing);
  CPPUNIT_TEST(every_token_can_be_used);
  CPPUNIT_TEST(ids_rotate);
  CPPUNIT_TEST(ids_rotate_from_where_they_were);
  CPPUNIT_TEST_SUITE_END();

  void the_first_time_in_their_order() {
    CPPUNIT_ASSERT_EQUAL(std::string("abc"), slots("", "abc"));
    CPPUNIT_ASSERT_EQUAL(std::string(), slots("abc", ""));
  }

  void nothing_moves_without_need() {
    CPPUNIT_ASSERT_EQUAL(std::string("cab"), slots("cab", "abc"));
    CPPUNIT_ASSERT_EQUAL(std::string("cabd"), slots("cab", "abcd"));
    CPPUNIT_ASSERT_EQUAL(std::string("cxb"), slots("cab", "bcx"));
  }

  void the_last_one_moves_into_a_hole() {
    CPPUNIT_ASSERT_EQUAL(std::string("adc"), slots("abcd", "acd"));
    CPPUNIT_ASSERT_EQUAL(std::string("abc"), slots("abcd", "abc"));
    CPPUNIT_ASSERT_EQUAL(std::string("cd"), slots("abcd", "cd"));
  }

  void any_previous_order() {
    CPPUNIT_ASSERT_EQUAL(std::string("bca"), slots("b  a", "abc"));
    CPPUNIT_ASSERT_EQUAL(std::string("abc"), slots("aaaaa", "abc"));
    CPPUNIT_ASSERT_EQUAL(std::string("ab"), slots("zzzzab", "ab"));
  }

  void one_change_moves_at_most_one_other() {
    std::mt19937_64 random(1);
    std::vector<EndpointAddress> now;
    for (int step = 0; step < 5000; ++step) {
      std::vector<EndpointAddress> wanted = now;
      EndpointAddress endpoint;
      endpoint.port = static_cast<std::uint16_t>(1 + random() % 40);
      const auto known = std::find(wanted.begin(), wanted.end(), endpoint);
      if (known != wanted.end()) {
        wanted.erase(known);
      } else {
        wanted.push_back(endpoint);
      }
      std::sort(wanted.begin(), wanted.end());
      const std::vector<EndpointAddress> next = assign_slots(now, wanted);
      std::size_t changed = 0;
      for (std::size_t i = 0; i < next.size(); ++i) changed += i >= now.size() || now[i] != next[i];
      CPPUNIT_ASSERT(changed <= 1);
      std::vector<EndpointAddress> sorted = next;
      std::sort(sorted.begin(), sorted.end());
      CPPUNIT_ASSERT(sorted == wanted);
      now = next;
    }
  }

  void tokens_stay_and_are_not_used_again_soon() {
    AffinityTokens tokens;
    tokens.assign(list("abc"));
    const auto of = [&](char letter) { return tokens.number(list({letter})[0]); };
    const std::uint16_t a = of('a'), b = of('b'), c = of('c');
    CPPUNIT_ASSERT(a != 0 && b != 0 && c != 0 && a != b && b != c && a != c);
    tokens.assign(list("ac"));
    tokens.assign(list("acd"));
    CPPUNIT_ASSERT_EQUAL(a, of('a'));
    CPPUNIT_ASSERT_EQUAL(c, of('c'));
    CPPUNIT_ASSERT(of('d') > c);
    const std::uint16_t d = of('d');
    tokens.assign({});
    tokens.assign(list("b"));
    CPPUNIT_ASSERT(of('b') > d);
  }

  void tokens_of_a_listing() {
    AffinityTokens tokens;
    // A duplicate number, a duplicate endpoint, an invalid number.
    tokens.restore({{list("a")[0], 7}, {list("b")[0], 7}, {list("c")[0], 3}, {list("c")[0], 4}, {list("d")[0], 0}});
    tokens.assign(list("abcd"));
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{7}, tokens.number(list("a")[0]));
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{8}, tokens.number(list("b")[0]));
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{3}, tokens.number(list("c")[0]));
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{9}, tokens.number(list("d")[0]));
  }

  void every_token_can_be_used() {
    std::vector<EndpointAddress> all(kMaxAffinityNumber);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].address.bytes[0] = static_cast<std::uint8_t>(i >> 8);
      all[i].address.bytes[1] = static_cast<std::uint8_t>(i);
    }
    AffinityTokens tokens;
    tokens.assign(all);
    all[100].port = 1;
    tokens.assign(all);
    std::vector<bool> used(kMaxAffinityNumber + 1);
    for (const EndpointAddress& endpoint : all) used[tokens.number(endpoint)] = true;
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{kMaxAffinityNumber}, std::count(used.begin(), used.end(), true));
    CPPUNIT_ASSERT(!used[0]);
  }

  void ids_rotate() {
    AffinityIds ids;
    const std::uint32_t first = ids.take_new();
    ids.give_back(first);
    CPPUNIT_ASSERT(ids.take_new() != first);
    CPPUNIT_ASSERT(!ids.is_free(0) && !ids.is_free(5) && ids.is_free(kAffinityIdMask));
    ids.reserve({0x70000, 0x80000, 0xffff0000, 0x70000, 0x20000, 5});  // 0x20000 is taken, 5 is invalid
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{0x30000}, ids.take_new());
    ids.take(0x80000);
    for (std::uint32_t taken = 3; taken < kMaxAffinityNumber - 2; ++taken) {
      CPPUNIT_ASSERT(ids.has_new());
      ids.take_new();
    }
    CPPUNIT_ASSERT_MESSAGE("two are kept for those that had them", !ids.has_new() && ids.is_free(0x70000));
    ids.stop_reserving();
    CPPUNIT_ASSERT(ids.has_new());
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{0x70000}, ids.take_new());
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{0xffff0000}, ids.take_new());
    CPPUNIT_ASSERT(!ids.has_new());
    ids.give_back(0x70000);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{0x70000}, ids.take_new());
  }

  // Clients may be stored with ids of deleted Services: a full comparison must not reuse them at once.
  void ids_rotate_from_where_they_were() {
    AffinityIds before;
    for (int i = 0; i < 9; ++i) before.give_back(before.take_new());
    CPPUNIT_ASSERT_EQUAL(9U, before.last());
    AffinityIds after(kMaxAffinityNumber, before.last());
    after.reserve({0x50000});
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{0xa0000}, after.take_new());
    AffinityIds at_the_end(kMaxAffinityNumber, kMaxAffinityNumber);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{0x10000}, at_the_end.take_new());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesSlotsTest);

}  // namespace slots_test
}  // namespace sluice::test
