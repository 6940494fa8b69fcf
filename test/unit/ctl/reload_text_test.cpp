// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// sluicectl reload: arguments, output, and the status lines about changes.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/ctl/arguments.hpp"
#include "core/ctl/reload_text.hpp"
#include "core/ctl/status_text.hpp"

namespace sluice::ctl {
namespace reload_text_test {

using namespace std::chrono_literals;
using nlohmann::json;

class CtlReloadTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CtlReloadTest);
  CPPUNIT_TEST(a_timeout_has_a_unit);
  CPPUNIT_TEST(errors_of_invalid_timeouts_contain_the_allowed_values);
  CPPUNIT_TEST(success_prints_its_sentences);
  CPPUNIT_TEST(unchanged_is_one_line);
  CPPUNIT_TEST(a_failure_goes_to_standard_error);
  CPPUNIT_TEST(a_partial_failure_goes_to_standard_error);
  CPPUNIT_TEST(a_running_reload_goes_to_standard_error);
  CPPUNIT_TEST(a_malformed_reply_goes_to_standard_error);
  CPPUNIT_TEST(the_status_shows_reloads);
  CPPUNIT_TEST(the_status_shows_swaps);
  CPPUNIT_TEST(a_status_without_changes_has_no_lines);
  CPPUNIT_TEST_SUITE_END();

  static json reply(const char* result, const json& sentences) {
    return {{"result", result}, {"sentences", sentences}, {"warnings", json::array()}, {"seconds", 0.25}};
  }

 public:
  void a_timeout_has_a_unit() {
    CPPUNIT_ASSERT(parse_arguments({"reload"})->timeout == 600s);
    CPPUNIT_ASSERT_EQUAL(std::string("reload"), parse_arguments({"reload"})->command);
    CPPUNIT_ASSERT(parse_arguments({"reload", "--timeout", "30s"})->timeout == 30s);
    CPPUNIT_ASSERT(parse_arguments({"--timeout=2m", "reload"})->timeout == 120s);
    CPPUNIT_ASSERT(parse_arguments({"reload", "--timeout=24h"})->timeout == 24h);
  }

  void errors_of_invalid_timeouts_contain_the_allowed_values() {
    for (const char* odd : {"0s", "-1s", "10", "10x", "1.5m", "25h", "s", "10ms", "99999999999s"}) {
      CPPUNIT_ASSERT_EQUAL(
          "--timeout: '" + std::string(odd) + "' is not a duration; allowed: 1s to 24h, as 30s, 10m or 1h",
          parse_arguments({"reload", std::string("--timeout=") + odd}).status().message());
    }
    CPPUNIT_ASSERT_EQUAL(std::string("--timeout: only the command reload has it"),
                         parse_arguments({"status", "--timeout=1s"}).status().message());
    CPPUNIT_ASSERT_EQUAL(std::string("--no-kernel: only the command services has it"),
                         parse_arguments({"reload", "--no-kernel"}).status().message());
    CPPUNIT_ASSERT_EQUAL(std::string("unexpected argument 'now' after reload"),
                         parse_arguments({"reload", "now"}).status().message());
  }

  void success_prints_its_sentences() {
    json success = reply("success", {"backend: a to b", "logging: json"});
    success["warnings"] = {"c.yaml:1: x: unknown field; it is ignored"};
    const auto page = reload_page(success, 600s);
    CPPUNIT_ASSERT_EQUAL(std::string("warning: c.yaml:1: x: unknown field; it is ignored\n"
                                     "reloaded in 250.0 ms\n  backend: a to b\n  logging: json\n"),
                         page.text);
    CPPUNIT_ASSERT_EQUAL(std::string(), page.error);
  }

  void unchanged_is_one_line() {
    const auto page = reload_page(reply("unchanged", {"nothing has changed"}), 600s);
    CPPUNIT_ASSERT_EQUAL(std::string("nothing has changed\n"), page.text);
    CPPUNIT_ASSERT_EQUAL(std::string(), page.error);
  }

  void a_failure_goes_to_standard_error() {
    const auto page = reload_page(reply("failed", {"c.yaml:3: a: is wrong", "c.yaml:4: b: \x1b[2J"}), 600s);
    CPPUNIT_ASSERT_EQUAL(std::string(), page.text);
    CPPUNIT_ASSERT_EQUAL(std::string("the reload failed; keeping the running configuration:\n  c.yaml:3: a: is wrong\n"
                                     "  c.yaml:4: b: ?[2J"),
                         page.error);
  }

  void a_partial_failure_goes_to_standard_error() {
    json failed = reply("failed", {"source: no such folder", "backend nftables serves"});
    failed["applied"] = true;
    CPPUNIT_ASSERT_EQUAL(std::string("the reload partially failed; the rest is applied:\n  source: no such folder\n"
                                     "  backend nftables serves"),
                         reload_page(failed, 600s).error);
  }

  void a_running_reload_goes_to_standard_error() {
    const auto page = reload_page({{"result", "running"}, {"in_progress", {{"doing", "backend: preparing"}}}}, 90s);
    CPPUNIT_ASSERT_EQUAL(std::string(), page.text);
    CPPUNIT_ASSERT_EQUAL(std::string("the reload has not ended within 90 s and goes on (backend: preparing); sluicectl "
                                     "status shows the result"),
                         page.error);
  }

  void a_malformed_reply_goes_to_standard_error() {
    for (const char* odd : {"{}", "[]", "7", R"({"result":7})", R"({"result":"strange"})"}) {
      CPPUNIT_ASSERT_MESSAGE(odd, reload_page(json::parse(odd), 1s).error.starts_with("the answer of sluiced is not"));
    }
    CPPUNIT_ASSERT(!reload_page(json::parse(R"({"result":"failed","sentences":7})"), 1s).error.empty());
  }

  void the_status_shows_reloads() {
    json status = {
        {"reload",
         {{"count", 2},
          {"last_success", "T0"},
          {"last",
           {{"result", "failed"}, {"at", "T1"}, {"trigger", "SIGHUP"}, {"sentences", {"a: is wrong", "b: too"}}}},
          {"in_progress", {{"since", "T2"}, {"trigger", "sluicectl reload"}, {"doing", "backend: preparing"}}}}}};
    CPPUNIT_ASSERT_EQUAL(std::string("Reload   failed at T1, by SIGHUP, last success at T0: a: is wrong; b: too\n"
                                     "Reload   in progress since T2, by sluicectl reload: backend: preparing\n"),
                         reload_lines(status));
    CPPUNIT_ASSERT(status_text(status).find("\nReload   failed at T1") != std::string::npos);
    status["reload"].erase("in_progress");
    status["reload"]["last"]["result"] = "success";
    CPPUNIT_ASSERT_EQUAL(std::string("Reload   success at T1, by SIGHUP: a: is wrong; b: too\n"), reload_lines(status));
  }

  void the_status_shows_swaps() {
    const json status = json::parse(R"({
      "swap":{"state":"probing","from":"iptables","to":"nftables","since":"T1",
              "last":{"from":"ipvs","to":"iptables","result":"success","seconds":1.5,"longest_wait_seconds":0.012}},
      "retiring":[{"backend":"ipvs","families":["IPv4","IPv6"],"until":"T2"},
                  {"backend":"x","families":[],"until":"T3","error":"it is stuck"}]})");
    CPPUNIT_ASSERT_EQUAL(std::string("Swap     ipvs to iptables: success, took 1.50 s, longest wait 12.0 ms\n"
                                     "Swap     iptables to nftables: probing, since T1\n"
                                     "Retiring ipvs, IPv4, IPv6, until T2\n"
                                     "Retiring x, until T3: it is stuck\n"),
                         reload_lines(status));
    const json failed = json::parse(
        R"({"swap":{"state":"idle","last":{"from":"a","to":"b","result":"failed","seconds":2,"error":"b: no tool"}}})");
    CPPUNIT_ASSERT_EQUAL(std::string("Swap     a to b: failed, took 2.00 s: b: no tool\n"), reload_lines(failed));
  }

  void a_status_without_changes_has_no_lines() {
    for (const char* nothing : {"{}", "7", R"({"reload":{"count":0},"swap":{"state":"idle"},"retiring":[]})",
                                R"({"reload":7,"swap":[],"retiring":{}})"}) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(nothing, std::string(), reload_lines(json::parse(nothing)));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CtlReloadTest);

}  // namespace reload_text_test
}  // namespace sluice::ctl
