// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluicectl counters, diff and explain: arguments and text output.
#include "core/ctl/inspect_text.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "core/ctl/arguments.hpp"

namespace sluice::ctl {
namespace inspect_text_test {

using nlohmann::json;

class CtlInspectTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CtlInspectTest);
  CPPUNIT_TEST(parses_arguments);
  CPPUNIT_TEST(errors_of_invalid_arguments_contain_the_allowed_values);
  CPPUNIT_TEST(help_lists_each_command);
  CPPUNIT_TEST(differences_are_a_table_with_their_contents);
  CPPUNIT_TEST(a_family_without_differences_says_so);
  CPPUNIT_TEST(objects_of_others_are_no_drift);
  CPPUNIT_TEST(failures_of_families_go_to_standard_error);
  CPPUNIT_TEST(counters_are_a_table);
  CPPUNIT_TEST(directions_may_be_counted_together);
  CPPUNIT_TEST(endpoints_are_counted_on_request);
  CPPUNIT_TEST(an_explanation_lists_steps_and_ends_with_the_verdict);
  CPPUNIT_TEST(each_verdict_has_a_sentence);
  CPPUNIT_TEST_SUITE_END();

  static std::string error_of(const std::vector<std::string>& words) {
    return parse_arguments(words).status().message();
  }
  static json reply(json rows) {
    return {{"families", {{{"family", "IPv4"}, {"backend", "b"}, {"rows", std::move(rows)}}}}};
  }
  static json keyed(json more) {
    json out = {{"service", "shop/cart"}, {"port_name", "http"}, {"protocol", "tcp"}};
    out.update(more);
    return out;
  }
  static json counted(json frontend, json endpoint, json connections) {
    json out = keyed({{"frontend", std::move(frontend)}, {"endpoint", std::move(endpoint)}});
    for (const char* key : {"packets", "bytes", "reply_packets", "reply_bytes", "active_connections", "refused"}) {
      out[key] = nullptr;
    }
    out["connections"] = std::move(connections);
    return out;
  }
  static json step(const char* object, const char* verdict, json endpoints = json::array()) {
    return {{"object", object},     {"effect", "does it"}, {"remarks", ""},    {"endpoints", std::move(endpoints)},
            {"masquerades", false}, {"packets", nullptr},  {"bytes", nullptr}, {"verdict", verdict}};
  }
  static json endpoint(const char* address, bool draining = false) {
    return {{"address", address}, {"port", 80}, {"object", ""}, {"draining", draining}, {"remarks", ""}};
  }
  static std::string explained(json rows, const char* from = "node") {
    json out = reply(std::move(rows));
    out["families"][0]["packet"] = {
        {"address", "172.30.0.41"}, {"port", 80}, {"protocol", "tcp"}, {"from", from}, {"client", "192.168.1.5"}};
    return explanation_page(out).text;
  }

 public:
  void parses_arguments() {
    CPPUNIT_ASSERT_EQUAL(std::string(), parse_arguments({"diff"})->query);
    const auto counters = parse_arguments({"counters", "shop/cart", "--endpoints", "--family=6"});
    CPPUNIT_ASSERT_MESSAGE(counters.status().message(), counters.ok());
    CPPUNIT_ASSERT(counters->query == "shop/cart" && counters->endpoints && counters->family == 6);
    const auto explain = parse_arguments({"explain", "10.96.0.1:443", "--from", "outside:203.0.113.9"});
    CPPUNIT_ASSERT_MESSAGE(explain.status().message(), explain.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("outside"), explain->client.from);
    CPPUNIT_ASSERT_EQUAL(std::string("203.0.113.9"), explain->client.address->to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("node"), parse_arguments({"explain", "a/b"})->client.from);
  }

  void errors_of_invalid_arguments_contain_the_allowed_values() {
    CPPUNIT_ASSERT_EQUAL(std::string("explain: TARGET is missing, for example 10.96.0.1:443 or shop/cart"),
                         error_of({"explain"}));
    CPPUNIT_ASSERT_EQUAL(std::string("explain: an empty text is not a Service"), error_of({"explain", ""}));
    CPPUNIT_ASSERT_EQUAL(std::string("diff: an empty text is not a Service; omit it to select all Services"),
                         error_of({"diff", ""}));
    CPPUNIT_ASSERT_EQUAL(std::string("--from: only the command explain has it"), error_of({"diff", "--from=node"}));
    CPPUNIT_ASSERT_EQUAL(
        std::string("--from: 'here' is not known; allowed: node, the address of a pod, outside, outside:ADDRESS"),
        error_of({"explain", "a/b", "--from=here"}));
    CPPUNIT_ASSERT_EQUAL(std::string("--family: only these commands have it: services, counters, diff"),
                         error_of({"explain", "a/b", "--family=4"}));
    CPPUNIT_ASSERT_EQUAL(std::string("--endpoints: only the command counters has it"),
                         error_of({"diff", "--endpoints"}));
  }

  void help_lists_each_command() {
    const std::string help = usage();
    for (const CtlCommand& command : ctl_commands()) {
      CPPUNIT_ASSERT_MESSAGE(std::string(command.name),
                             help.find("\n  " + std::string(command.name)) != std::string::npos);
    }
    std::size_t begin = 0;
    for (std::size_t end = help.find('\n'); end != std::string::npos; begin = end + 1, end = help.find('\n', begin)) {
      CPPUNIT_ASSERT_MESSAGE(help.substr(begin, end - begin), end - begin <= 120);
    }
  }

  void differences_are_a_table_with_their_contents() {
    const auto page = diff_page(
        reply({keyed({{"kind", "Changed"}, {"count", 1}, {"object", "chain X"}, {"wanted", "one"}, {"found", "two"}}),
               {{"service", nullptr},
                {"port_name", nullptr},
                {"protocol", nullptr},
                {"kind", "Extra"},
                {"count", 3},
                {"object", "more objects"},
                {"wanted", ""},
                {"found", ""}}}));
    CPPUNIT_ASSERT_EQUAL(std::string("IPv4, backend b:\n"
                                     "KIND     SERVICE PORT        OBJECT\n"
                                     "Changed  shop/cart:http/tcp  chain X\n"
                                     "  wanted: one\n"
                                     "  found: two\n"
                                     "Extra    -                   3 × more objects\n"),
                         page.text);
  }

  void a_family_without_differences_says_so() {
    const auto page = diff_page(reply(json::array()));
    CPPUNIT_ASSERT_EQUAL(std::string("IPv4, backend b: no differences\n"), page.text);
    CPPUNIT_ASSERT(page.errors.empty() && !has_drift(reply(json::array())));
  }

  void objects_of_others_are_no_drift() {
    CPPUNIT_ASSERT(!has_drift(reply(json::array({{{"kind", "Foreign"}}}))));
    for (const char* const kind : {"Missing", "Changed", "Extra"}) {
      CPPUNIT_ASSERT_MESSAGE(kind, has_drift(reply(json::array({{{"kind", "Foreign"}}, {{"kind", kind}}}))));
    }
    CPPUNIT_ASSERT(!has_drift(json::object()));
  }

  void failures_of_families_go_to_standard_error() {
    json both = reply(json::array());
    both["families"].push_back({{"family", "IPv6"}, {"error", "busy"}});
    for (const auto& page : {diff_page(both), counters_page(both, false)}) {
      CPPUNIT_ASSERT_EQUAL(std::string("IPv6: busy\n"), page.errors);
      CPPUNIT_ASSERT(page.text.find("IPv6") == std::string::npos);
    }
    CPPUNIT_ASSERT(diff_page(json::object()).errors.find("not understood") != std::string::npos);
  }

  void counters_are_a_table() {
    const json rows =
        json::array({counted({{"address", "172.30.0.41"}, {"port", 80}, {"node_port", false}}, nullptr, 12),
                     counted({{"address", ""}, {"port", 30080}, {"node_port", true}}, nullptr, 7),
                     counted(nullptr, {{"address", "fd00::2"}, {"port", 80}}, 5)});
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "IPv4, backend b:\n"
            "SERVICE PORT        FRONTEND        ENDPOINT  CONNECTIONS  PACKETS  BYTES  REPLY-PACKETS  REPLY-BYTES  "
            "ACTIVE  REFUSED\n"
            "shop/cart:http/tcp  172.30.0.41:80  all                12        -      -              -            -  "
            "     -        -\n"
            "shop/cart:http/tcp  :30080          all                 7        -      -              -            -  "
            "     -        -\n"),
        counters_page(reply(rows), false).text);
    CPPUNIT_ASSERT_EQUAL(std::string("IPv4, backend b: nothing is counted\n"),
                         counters_page(reply(json::array()), false).text);
  }

  void directions_may_be_counted_together() {
    json row = counted({{"address", ""}, {"port", 30080}, {"node_port", true}}, nullptr, nullptr);
    row["packets"] = 12;
    row["bytes"] = 900;
    row["both_directions"] = true;
    CPPUNIT_ASSERT_EQUAL(
        std::string("IPv4, backend b:\n"
                    "SERVICE PORT        FRONTEND  ENDPOINT  CONNECTIONS  PACKETS  BYTES  REPLY-PACKETS  REPLY-BYTES  "
                    "ACTIVE  REFUSED\n"
                    "shop/cart:http/tcp  :30080    all                 -       12    900     in PACKETS     in BYTES  "
                    "     -        -\n"),
        counters_page(reply(json::array({row})), false).text);
  }

  void endpoints_are_counted_on_request() {
    const json rows = json::array({counted(nullptr, {{"address", "fd00::2"}, {"port", 80}}, 5)});
    CPPUNIT_ASSERT(counters_page(reply(rows), false).text.find("nothing is counted") != std::string::npos);
    CPPUNIT_ASSERT(counters_page(reply(rows), true).text.find("all       [fd00::2]:80            5") !=
                   std::string::npos);
  }

  void an_explanation_lists_steps_and_ends_with_the_verdict() {
    json first = step("chain A", "Continues");
    first["remarks"] = "changed";
    first["masquerades"] = true;
    first["packets"] = 9;
    const json last = step("chain B", "Served", json::array({endpoint("10.180.0.1"), endpoint("10.180.2.1", true)}));
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "172.30.0.41:80/tcp from this node (192.168.1.5), IPv4, backend b:\n"
            "  1. chain A: does it (changed) [9 packets so far]\n"
            "  2. chain B: does it: 10.180.0.1:80, 10.180.2.1:80 (draining)\n"
            "  => served by 10.180.0.1:80, 10.180.2.1:80 (draining); the endpoint sees an address of this node\n"),
        explained(json::array({first, last})));
    CPPUNIT_ASSERT(explained(json::array({last}), "pod")
                       .starts_with("172.30.0.41:80/tcp from a pod of this node (192.168.1.5), "));
    CPPUNIT_ASSERT(
        explained(json::array({last}), "outside").starts_with("172.30.0.41:80/tcp from outside (192.168.1.5), "));
  }

  void each_verdict_has_a_sentence() {
    CPPUNIT_ASSERT(
        explained(json::array({step("x", "Rejected")})).ends_with("  => rejected: the client gets an error\n"));
    CPPUNIT_ASSERT(
        explained(json::array({step("x", "Dropped")})).ends_with("  => dropped: the client gets no answer\n"));
    CPPUNIT_ASSERT(explained(json::array({step("x", "NotProxied")}))
                       .ends_with("  => not proxied: the packet goes where it would go without sluiced\n"));
    // A value of a later version.
    CPPUNIT_ASSERT(explained(json::array({step("x", "Queued")})).ends_with("  => Queued\n"));
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(CtlInspectTest);

}  // namespace inspect_text_test
}  // namespace sluice::ctl
