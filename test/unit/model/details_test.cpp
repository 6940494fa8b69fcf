// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/model/details.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/model/endpoint_slice.hpp"

namespace sluice::model {
namespace details_test {

class DetailsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DetailsTest);
  CPPUNIT_TEST(nothing_is_covered_by_any_list);
  CPPUNIT_TEST(each_kind_of_list_covers_its_details);
  CPPUNIT_TEST(a_source_without_details_covers_everything);
  CPPUNIT_TEST(requests_are_combined_without_duplicates);
  CPPUNIT_TEST(any_prefix_may_begin_a_key);
  CPPUNIT_TEST(shared_values_are_compared);
  CPPUNIT_TEST_SUITE_END();

  static WantedDetailsPtr wanted(const DetailsRequest& request) {
    WantedDetails out;
    out.add(request);
    return std::make_shared<const WantedDetails>(out);
  }

  void nothing_is_covered_by_any_list() {
    CPPUNIT_ASSERT(covers(nullptr, nullptr, {}));
    CPPUNIT_ASSERT(!DetailsRequest().any());
  }

  void each_kind_of_list_covers_its_details() {
    const DetailsRequest services{.services = true};
    const DetailsRequest endpoints{.endpoints = true};
    const DetailsRequest annotations{.annotation_prefixes = base::Symbol("a.example/")};
    CPPUNIT_ASSERT(!covers(nullptr, wanted(services), services));
    CPPUNIT_ASSERT(covers(wanted(services), nullptr, services));
    CPPUNIT_ASSERT(!covers(wanted(endpoints), nullptr, endpoints));
    CPPUNIT_ASSERT(covers(nullptr, wanted(endpoints), endpoints));
    CPPUNIT_ASSERT(covers(wanted(annotations), nullptr, annotations));
    CPPUNIT_ASSERT(!covers(wanted({.annotation_prefixes = base::Symbol("b.example/")}), nullptr, annotations));
    CPPUNIT_ASSERT(!covers(wanted(annotations), nullptr, services));
  }

  void a_source_without_details_covers_everything() {
    const auto none = std::make_shared<const WantedDetails>(WantedDetails{.unavailable = true});
    CPPUNIT_ASSERT(covers(none, none, {true, true, base::Symbol("a.example/")}));
  }

  void requests_are_combined_without_duplicates() {
    WantedDetails both;
    both.add({.services = true, .annotation_prefixes = base::Symbol("a.example/")});
    both.add({.endpoints = true, .annotation_prefixes = base::Symbol("a.example/")});
    both.add({});
    CPPUNIT_ASSERT(both.services && both.endpoints);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, both.annotation_prefixes.size());
    CPPUNIT_ASSERT(same(nullptr, std::make_shared<const WantedDetails>()));
    CPPUNIT_ASSERT(!same(nullptr, std::make_shared<const WantedDetails>(both)));
  }

  void any_prefix_may_begin_a_key() {
    const base::Symbol packed = pack_names({"b.example/x", "a.example/"});
    for (const char* key : {"a.example/", "a.example/y", "b.example/xy"})
      CPPUNIT_ASSERT_MESSAGE(key, has_packed_prefix(packed, key));
    for (const char* key : {"", "b.example/", "a.example", "c.a.example/y"})
      CPPUNIT_ASSERT_MESSAGE(key, !has_packed_prefix(packed, key));
    CPPUNIT_ASSERT(!has_packed_prefix({}, "a.example/y"));
  }

  void shared_values_are_compared() {
    const Shared<Pod> none;
    CPPUNIT_ASSERT(none == Shared<Pod>());
    CPPUNIT_ASSERT(!(none == Shared(Pod())));
    CPPUNIT_ASSERT(Shared(Pod{"a", "1"}) == Shared(Pod{"a", "1"}));
    CPPUNIT_ASSERT(!(Shared(Pod{"a", "1"}) == Shared(Pod{"a", "2"})));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DetailsTest);

}  // namespace details_test
}  // namespace sluice::model
