// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluicectl services: arguments and text output.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/ctl/arguments.hpp"
#include "core/ctl/output.hpp"
#include "core/ctl/services_text.hpp"

namespace sluice::ctl {
namespace services_text_test {

using nlohmann::json;

class CtlServicesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CtlServicesTest);
  CPPUNIT_TEST(parses_arguments);
  CPPUNIT_TEST(errors_of_invalid_arguments_contain_the_allowed_values);
  CPPUNIT_TEST(headings_name_the_origin_of_the_data);
  CPPUNIT_TEST(failures_of_families_go_to_standard_error);
  CPPUNIT_TEST(a_query_without_a_match_goes_to_standard_error);
  CPPUNIT_TEST(renders_json_and_yaml);
  CPPUNIT_TEST(names_cannot_control_the_terminal);
  CPPUNIT_TEST_SUITE_END();

  static std::string error_of(const std::vector<std::string>& words) {
    return parse_arguments(words).status().message();
  }

 public:
  void parses_arguments() {
    const auto all = parse_arguments({"services"});
    CPPUNIT_ASSERT(all.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("services"), all->command);
    CPPUNIT_ASSERT(all->query.empty() && all->family == 0 && all->kernel && all->output == Output::text);
    const auto some = parse_arguments({"services", "--family=6", "shop/cart:http", "--no-kernel", "--json"});
    CPPUNIT_ASSERT_MESSAGE(some.status().message(), some.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http"), some->query);
    CPPUNIT_ASSERT(some->family == 6 && !some->kernel && some->output == Output::json);
    CPPUNIT_ASSERT_EQUAL(4, parse_arguments({"services", "--family", "4"})->family);
    CPPUNIT_ASSERT(parse_arguments({"services", "-o", "yaml"})->output == Output::yaml);
    for (const std::string query : {"cart", "172.30.0.41", "[fd00::1]:80/tcp", ":30080"}) {
      CPPUNIT_ASSERT_EQUAL(query, parse_arguments({"services", query})->query);
    }
  }

  void errors_of_invalid_arguments_contain_the_allowed_values() {
    CPPUNIT_ASSERT_EQUAL(std::string("--family: '5' is not known; allowed: 4, 6"),
                         error_of({"services", "--family=5"}));
    CPPUNIT_ASSERT_EQUAL(std::string("unexpected argument 'b/b' after a/a"), error_of({"services", "a/a", "b/b"}));
    CPPUNIT_ASSERT_EQUAL(std::string("--output: 'xml' is not known; allowed: text, json, yaml"),
                         error_of({"services", "-o", "xml"}));
    CPPUNIT_ASSERT_EQUAL(std::string("services: an empty text is not a Service; omit it to select all Services"),
                         error_of({"services", ""}));
  }

  void headings_name_the_origin_of_the_data() {
    const ServicesPage page = services_page(json::parse(R"({"families":[
        {"family":"IPv4","backend":"nftables","view":"kernel","generation":7,"lines":["a","  b"]},
        {"family":"IPv6","backend":"nftables","view":"given","generation":7,"lines":[]}]})"),
                                            "");
    CPPUNIT_ASSERT_EQUAL(
        std::string("IPv4, backend nftables, as the kernel has it:\n"
                    "a\n"
                    "  b\n"
                    "\n"
                    "IPv6, backend nftables, as delivered up to generation 7; the kernel was not read:\n"
                    "nothing\n"),
        page.text);
    CPPUNIT_ASSERT_EQUAL(std::string(), page.errors);
  }

  void failures_of_families_go_to_standard_error() {
    const ServicesPage page = services_page(json::parse(R"({"families":[
        {"family":"IPv4","error":"no answer"},
        {"family":"IPv6","backend":"b","view":"kernel","lines":["a"]}]})"),
                                            "x/y");
    CPPUNIT_ASSERT_EQUAL(std::string("IPv6, backend b, as the kernel has it:\na\n"), page.text);
    CPPUNIT_ASSERT_EQUAL(std::string("IPv4: no answer\n"), page.errors);
    for (const char* odd : {"null", "[]", "{}", R"({"families":1})"}) {
      CPPUNIT_ASSERT_MESSAGE(odd,
                             services_page(json::parse(odd), "").errors.find("not understood") != std::string::npos);
    }
  }

  void a_query_without_a_match_goes_to_standard_error() {
    const json nothing = json::parse(R"({"families":[{"family":"IPv4","view":"kernel","lines":[]}]})");
    CPPUNIT_ASSERT_EQUAL(std::string("nothing matches shop/x\n"), services_page(nothing, "shop/x").errors);
    CPPUNIT_ASSERT_EQUAL(std::string(), services_page(nothing, "").errors);
    // It may match in a family without a reply.
    const json failed = json::parse(R"({"families":[{"family":"IPv4","error":"e"}]})");
    CPPUNIT_ASSERT_EQUAL(std::string("IPv4: e\n"), services_page(failed, "shop/x").errors);
    for (const char* list : {"lines", "service_ports", "not_proxied", "unwanted"}) {
      const json one = {{"families", {{{"family", "IPv4"}, {list, {"entry"}}}}}};
      CPPUNIT_ASSERT_EQUAL(std::string(), services_page(one, "shop/x").errors);
    }
  }

  void renders_json_and_yaml() {
    const json reply = json::parse(R"({"families":[{"name":"no","number":1,"none":null,"list":[],"yes":true}]})");
    CPPUNIT_ASSERT(json::parse(render(reply, Output::json)) == reply);
    CPPUNIT_ASSERT_EQUAL(
        std::string("families:\n  - list:\n      []\n    name: \"no\"\n    none: ~\n    number: 1\n    yes: true\n"),
        render(reply, Output::yaml));
    const json odd = {{"name", "a\xff\x1b"}};
    for (const Output output : {Output::json, Output::yaml}) {
      const std::string text = render(odd, output);
      CPPUNIT_ASSERT_MESSAGE(text, text.find('\x1b') == std::string::npos && text.find('\xff') == std::string::npos);
    }
  }

  void names_cannot_control_the_terminal() {
    const ServicesPage page = services_page(
        {{"families", {{{"family", "IPv4"}, {"view", "kernel"}, {"backend", "\x1b[2J"}, {"lines", {"a\x1b[2J\nb"}}}}}},
        "");
    CPPUNIT_ASSERT(page.text.find('\x1b') == std::string::npos);
    CPPUNIT_ASSERT(page.text.find("a?[2J?b\n") != std::string::npos);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CtlServicesTest);

}  // namespace services_text_test
}  // namespace sluice::ctl
