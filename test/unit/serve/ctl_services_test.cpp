// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluicectl services: its words, and its page of text.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/ctl/arguments.hpp"
#include "core/ctl/services_text.hpp"

namespace sluice::ctl {
namespace ctl_services_test {

using nlohmann::json;

class CtlServicesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CtlServicesTest);
  CPPUNIT_TEST(words_of_services);
  CPPUNIT_TEST(wrong_words_say_what_is_allowed);
  CPPUNIT_TEST(the_page_says_where_it_comes_from);
  CPPUNIT_TEST(families_that_fail_are_troubles);
  CPPUNIT_TEST(a_name_nobody_has_is_trouble);
  CPPUNIT_TEST(names_cannot_steer_the_terminal);
  CPPUNIT_TEST_SUITE_END();

  static std::string refusal(const std::vector<std::string>& words) {
    return parse_arguments(words).status().message();
  }

 public:
  void words_of_services() {
    const auto all = parse_arguments({"services"});
    CPPUNIT_ASSERT(all.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("services"), all->command);
    CPPUNIT_ASSERT(all->name.empty() && all->family == 0 && !all->told && all->output == Output::text);
    const auto some = parse_arguments({"services", "--family=6", "shop/cart:http", "--told", "--json"});
    CPPUNIT_ASSERT_MESSAGE(some.status().message(), some.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http"), some->name);
    CPPUNIT_ASSERT(some->family == 6 && some->told && some->output == Output::json);
    CPPUNIT_ASSERT_EQUAL(4, parse_arguments({"services", "--family", "4"})->family);
  }

  void wrong_words_say_what_is_allowed() {
    CPPUNIT_ASSERT_EQUAL(std::string("--family: '5' is not known; allowed: 4, 6"), refusal({"services", "--family=5"}));
    CPPUNIT_ASSERT_EQUAL(std::string("unexpected argument 'b/b' after a/a"), refusal({"services", "a/a", "b/b"}));
    for (const std::string name : {"cart", "/cart", "shop/", "shop/:http", "a/b/c", ""}) {
      CPPUNIT_ASSERT_EQUAL("services: '" + name + "' is no Service; allowed: NAMESPACE/NAME or NAMESPACE/NAME:PORT",
                           refusal({"services", name}));
    }
  }

  void the_page_says_where_it_comes_from() {
    const ServicesPage page = services_page(json::parse(R"({"families":[
        {"family":"IPv4","backend":"nftables","view":"kernel","lines":["a","b"]},
        {"family":"IPv6","backend":"nftables","view":"told","generation":7,"lines":[]}]})"),
                                            "");
    CPPUNIT_ASSERT_EQUAL(std::string("IPv4, what the kernel has, read by backend nftables:\n"
                                     "a\n"
                                     "b\n"
                                     "\n"
                                     "IPv6, what backend nftables has been told up to generation 7; the kernel has not "
                                     "been read:\n"
                                     "nothing\n"),
                         page.text);
    CPPUNIT_ASSERT_EQUAL(std::string(), page.troubles);
  }

  void families_that_fail_are_troubles() {
    const ServicesPage page = services_page(json::parse(R"({"families":[
        {"family":"IPv4","error":"no answer"},
        {"family":"IPv6","backend":"b","view":"kernel","lines":["a"]}]})"),
                                            "x/y");
    CPPUNIT_ASSERT_EQUAL(std::string("IPv6, what the kernel has, read by backend b:\na\n"), page.text);
    CPPUNIT_ASSERT_EQUAL(std::string("IPv4: no answer\n"), page.troubles);
    for (const char* odd : {"null", "[]", "{}", R"({"families":1})"}) {
      CPPUNIT_ASSERT_MESSAGE(odd,
                             services_page(json::parse(odd), "").troubles.find("not understood") != std::string::npos);
    }
  }

  void a_name_nobody_has_is_trouble() {
    const json nothing = json::parse(R"({"families":[{"family":"IPv4","view":"kernel","lines":[]}]})");
    CPPUNIT_ASSERT_EQUAL(std::string("shop/x is not among them\n"), services_page(nothing, "shop/x").troubles);
    CPPUNIT_ASSERT_EQUAL(std::string(), services_page(nothing, "").troubles);
    // Nobody knows where no family could be looked at.
    const json failed = json::parse(R"({"families":[{"family":"IPv4","error":"e"}]})");
    CPPUNIT_ASSERT_EQUAL(std::string("IPv4: e\n"), services_page(failed, "shop/x").troubles);
  }

  void names_cannot_steer_the_terminal() {
    const ServicesPage page = services_page(
        {{"families", {{{"family", "IPv4"}, {"view", "kernel"}, {"backend", "\x1b[2J"}, {"lines", {"a\x1b[2J\nb"}}}}}},
        "");
    CPPUNIT_ASSERT(page.text.find('\x1b') == std::string::npos);
    CPPUNIT_ASSERT(page.text.find("a?[2J?b\n") != std::string::npos);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CtlServicesTest);

}  // namespace ctl_services_test
}  // namespace sluice::ctl
