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
  CPPUNIT_TEST(distance_counts_changed_added_and_removed_letters);
  CPPUNIT_TEST(only_similar_names_are_found);
  CPPUNIT_TEST_SUITE_END();

  void distance_counts_changed_added_and_removed_letters() {
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, letters_apart("mode", "mode"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, letters_apart("", "mode"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, letters_apart("mode", ""));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, letters_apart("kitten", "sitting"));
  }

  void only_similar_names_are_found() {
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
