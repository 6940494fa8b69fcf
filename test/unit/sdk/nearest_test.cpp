// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "sluice/sdk/nearest.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <string_view>
#include <vector>

namespace sluice::sdk {
namespace nearest_test {

class NearestTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NearestTest);
  CPPUNIT_TEST(letters_are_changed_added_and_dropped);
  CPPUNIT_TEST(near_names_are_found_and_far_ones_are_not);
  CPPUNIT_TEST_SUITE_END();

  void letters_are_changed_added_and_dropped() {
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, letters_apart("mode", "mode"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, letters_apart("", "mode"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, letters_apart("mode", ""));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, letters_apart("kitten", "sitting"));
  }

  void near_names_are_found_and_far_ones_are_not() {
    const std::vector<std::string_view> names{"mode", "backend", "clusterCIDR"};
    CPPUNIT_ASSERT(nearest_name("clusterCidr", names) == "clusterCIDR");
    CPPUNIT_ASSERT(nearest_name("mod", names) == "mode");
    CPPUNIT_ASSERT(nearest_name("frontend", names).empty());
    CPPUNIT_ASSERT(nearest_name("", names).empty());
    CPPUNIT_ASSERT(nearest_name("x", std::vector<std::string_view>{"y"}).empty());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NearestTest);

}  // namespace nearest_test
}  // namespace sluice::sdk
