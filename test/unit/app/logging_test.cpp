// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/logging.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <stdlib.h>
#include <time.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

namespace sluice::app {
namespace {

// 2026-11-21 02:41:00.123456 UTC.
LogRecord record(base::LogLevel level, const std::string& text) {
  using namespace std::chrono;
  return {level, "store", text, system_clock::time_point(seconds(1795228860) + microseconds(123456)), 12345};
}

class LoggingTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LoggingTest);
  CPPUNIT_TEST(text_lines_look_like_those_of_klog);
  CPPUNIT_TEST(levels_have_letters);
  CPPUNIT_TEST(a_record_is_one_line_whatever_it_contains);
  CPPUNIT_TEST(json_lines_have_the_fields_of_kubernetes);
  CPPUNIT_TEST(json_survives_text_that_is_no_utf8);
  CPPUNIT_TEST(verbosity_decides_about_debug_lines);
  CPPUNIT_TEST_SUITE_END();

  std::optional<std::string> zone_;

 public:
  void setUp() override {
    if (const char* zone = std::getenv("TZ")) zone_ = zone;
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  void tearDown() override {
    if (zone_) {
      ::setenv("TZ", zone_->c_str(), 1);
    } else {
      ::unsetenv("TZ");
    }
    ::tzset();
  }

  void text_lines_look_like_those_of_klog() {
    CPPUNIT_ASSERT_EQUAL(std::string("I1121 02:41:00.123456   12345 store] hello"),
                         text_line(record(base::LogLevel::info, "hello")));
  }

  void levels_have_letters() {
    CPPUNIT_ASSERT_EQUAL('E', text_line(record(base::LogLevel::error, "")).front());
    CPPUNIT_ASSERT_EQUAL('W', text_line(record(base::LogLevel::warning, "")).front());
    CPPUNIT_ASSERT_EQUAL('I', text_line(record(base::LogLevel::debug, "")).front());
  }

  void a_record_is_one_line_whatever_it_contains() {
    CPPUNIT_ASSERT_EQUAL(std::string("I1121 02:41:00.123456   12345 store] a\\nE1121 b\\x1b[31m\\x7f"),
                         text_line(record(base::LogLevel::info, "a\nE1121 b\x1b[31m\x7f")));
    CPPUNIT_ASSERT_EQUAL(std::string::npos, json_line(record(base::LogLevel::info, "a\nb")).find('\n'));
  }

  void json_lines_have_the_fields_of_kubernetes() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("{\"ts\":1795228860123.456,\"level\":\"info\",\"component\":\"store\",\"pid\":12345,"
                    "\"msg\":\"hello \\\"you\\\"\",\"v\":0}"),
        json_line(record(base::LogLevel::info, "hello \"you\"")));
    const auto debug = nlohmann::json::parse(json_line(record(base::LogLevel::debug, "x")));
    CPPUNIT_ASSERT_EQUAL(4, debug["v"].get<int>());
    const auto error = nlohmann::json::parse(json_line(record(base::LogLevel::error, "x")));
    CPPUNIT_ASSERT_EQUAL(std::string("error"), error["level"].get<std::string>());
    CPPUNIT_ASSERT(!error.contains("v"));
  }

  void json_survives_text_that_is_no_utf8() {
    const auto line = nlohmann::json::parse(json_line(record(base::LogLevel::info, "a\xff\xfe")));
    CPPUNIT_ASSERT(line["msg"].get<std::string>().starts_with("a"));
  }

  void verbosity_decides_about_debug_lines() {
    set_up_logging({4, LogFormat::text});
    CPPUNIT_ASSERT(base::log_enabled(base::LogLevel::debug, "store"));
    set_up_logging({3, LogFormat::json});
    CPPUNIT_ASSERT(!base::log_enabled(base::LogLevel::debug, "store"));
    CPPUNIT_ASSERT(base::log_enabled(base::LogLevel::info, "plugin.iptables"));
    set_up_logging({});
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(LoggingTest);

}  // namespace
}  // namespace sluice::app
