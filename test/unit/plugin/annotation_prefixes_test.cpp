// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/annotation_prefixes.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "sluice/sdk/views.hpp"

namespace sluice::plugin {
namespace annotation_prefixes_test {

class AnnotationPrefixesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(AnnotationPrefixesTest);
  CPPUNIT_TEST(prefixes_are_sorted_without_duplicates);
  CPPUNIT_TEST(a_domain_and_a_slash_are_required);
  CPPUNIT_TEST(the_error_names_file_and_prefix);
  CPPUNIT_TEST_SUITE_END();

  static bool valid(const std::string& prefix) { return check_annotation_prefixes("/p.so", {prefix}).ok(); }

  void prefixes_are_sorted_without_duplicates() {
    const abi::StringView all[] = {sdk::view("b.example/"), sdk::view("a.example/"), sdk::view("b.example/")};
    abi::PluginEntry entry{};
    CPPUNIT_ASSERT(read_annotation_prefixes(entry).empty());
    entry.annotation_prefixes = sdk::array(all, 3);
    CPPUNIT_ASSERT((read_annotation_prefixes(entry) == std::vector<std::string>{"a.example/", "b.example/"}));
  }

  void a_domain_and_a_slash_are_required() {
    for (const char* good : {"example.com/", "a/", "example.com/weight", "x-1.example.com/a.B_c-d", "1.example/9"})
      CPPUNIT_ASSERT_MESSAGE(good, valid(good));
    for (const char* bad : {"", "/", "example.com", "Example.com/", "-a.example/", "a-.example/", "a..example/", ".a/",
                            "a./", "a b/", "example.com/ ", "example.com/a/b", "example.com/-a", "example.com/a\n"})
      CPPUNIT_ASSERT_MESSAGE(bad, !valid(bad));
    CPPUNIT_ASSERT(valid(std::string(63, 'a') + "/" + std::string(63, 'a')));
    CPPUNIT_ASSERT(!valid(std::string(64, 'a') + "/"));
    CPPUNIT_ASSERT(!valid("a/" + std::string(64, 'a')));
  }

  void the_error_names_file_and_prefix() {
    CPPUNIT_ASSERT_EQUAL(std::string("plugin /p.so: descriptor check: annotation prefix 'weight' is not a domain, a slash "
                                     "and the beginning of a name; write for example 'example.com/'"),
                         check_annotation_prefixes("/p.so", {"a.example/", "weight"}).message());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(AnnotationPrefixesTest);

}  // namespace annotation_prefixes_test
}  // namespace sluice::plugin
