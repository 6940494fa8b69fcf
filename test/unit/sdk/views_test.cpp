// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/extensions/HelperMacros.h>

#include "sluice/sdk/sdk.hpp"

namespace sluice::sdk {
namespace views_test {

class ViewsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ViewsTest);
  CPPUNIT_TEST(text_and_view_are_inverse_and_null_is_empty);
  CPPUNIT_TEST(range_iterates_elements_of_the_same_size);
  CPPUNIT_TEST(range_skips_fields_of_a_newer_writer);
  CPPUNIT_TEST(range_zero_fills_fields_missing_in_an_older_writer);
  CPPUNIT_TEST(range_without_data_or_stride_is_empty);
  CPPUNIT_TEST(range_needs_no_alignment);
  CPPUNIT_TEST(struct_of_an_older_writer_is_zero_filled);
  CPPUNIT_TEST(struct_of_a_newer_writer_is_truncated);
  CPPUNIT_TEST_SUITE_END();

  struct Old {
    std::uint32_t a;
  };
  struct New {
    std::uint32_t a, b;
  };

  void text_and_view_are_inverse_and_null_is_empty() {
    CPPUNIT_ASSERT_EQUAL(std::string_view("a\0b", 3), text(view(std::string_view("a\0b", 3))));
    CPPUNIT_ASSERT_EQUAL(std::string_view(), text(abi::StringView{nullptr, 0}));
  }

  void range_iterates_elements_of_the_same_size() {
    const New data[] = {{1, 2}, {3, 4}};
    const Range<New> all = range<New>(array(data, 2));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, all.size());
    CPPUNIT_ASSERT_EQUAL(4u, all[1].b);
    std::uint32_t sum = 0;
    for (const New& value : all) sum += value.a * 10 + value.b;
    CPPUNIT_ASSERT_EQUAL(46u, sum);
    CPPUNIT_ASSERT(std::next(all.begin(), 2) == all.end());
  }

  void range_skips_fields_of_a_newer_writer() {
    const New data[] = {{1, 99}, {2, 99}};
    const Range<Old> all = range<Old>(array(data, 2));
    CPPUNIT_ASSERT_EQUAL(1u, all[0].a);
    CPPUNIT_ASSERT_EQUAL(2u, all[1].a);
  }

  void range_zero_fills_fields_missing_in_an_older_writer() {
    const Old data[] = {{1}, {2}};
    const Range<New> all = range<New>(array(data, 2));
    CPPUNIT_ASSERT_EQUAL(2u, all[1].a);
    CPPUNIT_ASSERT_EQUAL(0u, all[0].b);
  }

  void range_without_data_or_stride_is_empty() {
    const Old data[] = {{1}};
    CPPUNIT_ASSERT(range<Old>(abi::ArrayView{nullptr, 5, 4, 0}).empty());
    CPPUNIT_ASSERT(range<Old>(abi::ArrayView{data, 1, 0, 0}).empty());
    CPPUNIT_ASSERT(range<Old>(abi::ArrayView{}).begin() == range<Old>(abi::ArrayView{}).end());
  }

  void range_needs_no_alignment() {
    alignas(8) char bytes[1 + 2 * sizeof(New)] = {};
    const New value{7, 8};
    std::memcpy(bytes + 1 + sizeof(New), &value, sizeof(value));
    CPPUNIT_ASSERT_EQUAL(8u, range<New>(abi::ArrayView{bytes + 1, 2, sizeof(New), 0})[1].b);
  }

  void struct_of_an_older_writer_is_zero_filled() {
    abi::Handover handover{};
    handover.struct_size = 8;
    handover.drain_seconds = 30;
    handover.claims.count = 99;  // beyond the given size
    const abi::Handover copy = read(&handover);
    CPPUNIT_ASSERT_EQUAL(30u, copy.drain_seconds);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, copy.claims.count);
  }

  void struct_of_a_newer_writer_is_truncated() {
    struct {
      abi::ApplyResult known;
      std::uint64_t added;
    } newer{{sizeof(newer), 3, 4, 5, 6}, 7};
    const abi::ApplyResult copy = read(&newer.known);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{5}, copy.objects_owned);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{6}, copy.kernel_nanoseconds);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{sizeof(copy)}, copy.struct_size);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ViewsTest);

}  // namespace views_test
}  // namespace sluice::sdk
