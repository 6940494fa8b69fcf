// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/extensions/HelperMacros.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "plugins/nftables/kernel/listing.hpp"

namespace sluice::nftables {
namespace listing_test {

using Word = std::uint32_t;

// Two words, ordered byte by byte as in the kernel.
Key key(Word first, Word second) {
  Key key;
  const Word words[] = {__builtin_bswap32(first), __builtin_bswap32(second)};
  key.append(words, sizeof(words));
  return key;
}
Key prefix(Word first) {
  Key key;
  first = __builtin_bswap32(first);
  key.append(&first, sizeof(first));
  return key;
}
Data data(Word number) {
  Data data;
  data.append(&number, sizeof(number));
  return data;
}

class RecordTableTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RecordTableTest);
  CPPUNIT_TEST(finds_what_was_added);
  CPPUNIT_TEST(finds_where_a_prefix_begins);
  CPPUNIT_TEST(marks_places);
  CPPUNIT_TEST(holds_sets_without_data);
  CPPUNIT_TEST(is_empty_without_anything);
  CPPUNIT_TEST(distinguishes_comments);
  CPPUNIT_TEST(keeps_one_of_each_key);
  CPPUNIT_TEST_SUITE_END();

 public:
  // The kernel lists elements twice if it resizes the set meanwhile.
  void keeps_one_of_each_key() {
    RecordTable table(8, 4);
    for (const Word second : {2, 1, 2, 3, 2}) table.add(key(7, second).data(), data(second).data(), second);
    table.sort();
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, table.size());
    for (std::size_t place = 0; place < 3; ++place) CPPUNIT_ASSERT(table.key(place) == key(7, static_cast<Word>(place + 1)));
    table.mark(*table.find(key(7, 2)));
    CPPUNIT_ASSERT(!table.is_marked(0) && table.is_marked(1) && !table.is_marked(2));
  }

  void finds_what_was_added() {
    RecordTable table(8, 4);
    std::map<Key, Word> model;
    std::mt19937 random(7);
    for (Word i = 0; i < 2000; ++i) {
      const Key at = key(random() % 50, random());
      if (!model.emplace(at, i).second) continue;
      table.add(at.data(), data(i).data(), i);
    }
    table.sort();
    CPPUNIT_ASSERT_EQUAL(model.size(), table.size());
    std::size_t place = 0;
    for (const auto& [at, number] : model) {
      CPPUNIT_ASSERT(at == table.key(place));
      CPPUNIT_ASSERT(data(number) == table.data(place));
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{number}, table.comment(place));
      CPPUNIT_ASSERT(table.find(at) == place);
      ++place;
    }
    CPPUNIT_ASSERT(!table.find(key(51, 0)));
    CPPUNIT_ASSERT(!table.find(prefix(1)));
  }

  void finds_where_a_prefix_begins() {
    RecordTable table(8, 0);
    Word second = 0;
    for (const Word first : {4, 2, 2, 9}) {
      const Key at = key(first, ++second);
      table.add(at.data(), nullptr, 0);
    }
    table.sort();
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, table.lower_bound(prefix(1)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, table.lower_bound(prefix(2)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, table.lower_bound(prefix(3)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, table.lower_bound(prefix(5)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, table.lower_bound(prefix(10)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, table.lower_bound(Key()));
  }

  void marks_places() {
    RecordTable table(4, 0);
    for (const Word first : {3, 1, 2}) table.add(prefix(first).data(), nullptr, 0);
    table.sort();
    table.mark(1);
    CPPUNIT_ASSERT(!table.is_marked(0));
    CPPUNIT_ASSERT(table.is_marked(1));
    CPPUNIT_ASSERT(!table.is_marked(2));
  }

  void holds_sets_without_data() {
    RecordTable table(4, 0);
    table.add(prefix(3).data(), nullptr, 5);
    table.sort();
    CPPUNIT_ASSERT(table.data(0).empty());
    CPPUNIT_ASSERT(table.key(0) == prefix(3));
  }

  void is_empty_without_anything() {
    RecordTable none;
    none.sort();
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, none.size());
    CPPUNIT_ASSERT(!none.find(prefix(1)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, none.lower_bound(prefix(1)));
  }

  void distinguishes_comments() {
    CPPUNIT_ASSERT(comment_hash("ns1/svc1:p80") != comment_hash("ns1/svc1:p81"));
    CPPUNIT_ASSERT(comment_hash("") != comment_hash("a"));
    CPPUNIT_ASSERT_EQUAL(comment_hash("ns1/svc1:p80"), comment_hash(std::string("ns1/svc1:p80")));
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(RecordTableTest);

}  // namespace listing_test
}  // namespace sluice::nftables
