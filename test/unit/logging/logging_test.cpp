// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/logging/logging.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "core/base/log_messages.hpp"
#include "core/logging/logging_part.hpp"
#include "lib/fd.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::logging {
namespace logging_test {

// 2026-11-21 02:41:00.123456 UTC.
LogRecord record(base::LogLevel level, const std::string& text) {
  using namespace std::chrono;
  return {level, "store", text, system_clock::time_point(seconds(1795228860) + microseconds(123456)), 12345, {}};
}

class LoggingTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LoggingTest);
  CPPUNIT_TEST(text_lines_have_the_format_of_klog);
  CPPUNIT_TEST(levels_are_letters_in_text_lines);
  CPPUNIT_TEST(newlines_in_a_record_are_escaped);
  CPPUNIT_TEST(json_lines_have_the_fields_of_kubernetes_components);
  CPPUNIT_TEST(json_lines_have_the_id_and_the_keys_of_their_message);
  CPPUNIT_TEST(json_replaces_invalid_utf8);
  CPPUNIT_TEST(verbosity_enables_debug_lines);
  CPPUNIT_TEST(logging_is_reconfigured);
  CPPUNIT_TEST(patterns_are_globs);
  CPPUNIT_TEST(vmodule_and_split_streams);
  CPPUNIT_TEST(reconfiguration_loses_no_line_of_other_threads);
  CPPUNIT_TEST(lines_for_the_journal_have_a_priority);
  CPPUNIT_TEST(other_streams_have_no_priority);
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

  void text_lines_have_the_format_of_klog() {
    CPPUNIT_ASSERT_EQUAL(std::string("I1121 02:41:00.123456   12345 store] hello"),
                         text_line(record(base::LogLevel::info, "hello")));
  }

  void levels_are_letters_in_text_lines() {
    CPPUNIT_ASSERT_EQUAL('E', text_line(record(base::LogLevel::error, "")).front());
    CPPUNIT_ASSERT_EQUAL('W', text_line(record(base::LogLevel::warning, "")).front());
    CPPUNIT_ASSERT_EQUAL('I', text_line(record(base::LogLevel::debug, "")).front());
  }

  void newlines_in_a_record_are_escaped() {
    CPPUNIT_ASSERT_EQUAL(std::string("I1121 02:41:00.123456   12345 store] a\\nE1121 b\\x1b[31m\\x7f"),
                         text_line(record(base::LogLevel::info, "a\nE1121 b\x1b[31m\x7f")));
    CPPUNIT_ASSERT_EQUAL(std::string::npos, json_line(record(base::LogLevel::info, "a\nb")).find('\n'));
  }

  void json_lines_have_the_fields_of_kubernetes_components() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("{\"ts\":1795228860123.456,\"level\":\"info\",\"logger\":\"store\",\"pid\":12345,"
                    "\"msg\":\"hello \\\"you\\\"\",\"v\":0}"),
        json_line(record(base::LogLevel::info, "hello \"you\"")));
    const auto debug = nlohmann::json::parse(json_line(record(base::LogLevel::debug, "x")));
    CPPUNIT_ASSERT_EQUAL(4, debug["v"].get<int>());
    const auto error = nlohmann::json::parse(json_line(record(base::LogLevel::error, "x")));
    CPPUNIT_ASSERT_EQUAL(std::string("error"), error["level"].get<std::string>());
    CPPUNIT_ASSERT(!error.contains("v"));
  }

  void json_lines_have_the_id_and_the_keys_of_their_message() {
    config::LogSettings settings;
    settings.format = config::LogFormat::json;
    const Streams streams;
    set_up_logging(settings);
    base::log(base::message::kSyncFailed.at(base::LogLevel::warning), "the text",
              {{"backend", "ipt\"ables"}, {"generation", 7}, {"seconds", 0.5}});
    base::log(base::LogLevel::error, "plugin.print", "its text");
    std::istringstream lines(streams.err());
    std::string text;
    CPPUNIT_ASSERT(std::getline(lines, text));
    const auto line = nlohmann::json::parse(text);
    CPPUNIT_ASSERT_EQUAL(std::string("sync"), line["logger"].get<std::string>());
    CPPUNIT_ASSERT_EQUAL(std::string("warning"), line["level"].get<std::string>());
    CPPUNIT_ASSERT_EQUAL(std::string("sync-failed"), line["id"].get<std::string>());
    CPPUNIT_ASSERT_EQUAL(std::string("ipt\"ables"), line["backend"].get<std::string>());
    CPPUNIT_ASSERT_EQUAL(7, line["generation"].get<int>());
    CPPUNIT_ASSERT_EQUAL(0.5, line["seconds"].get<double>());
    CPPUNIT_ASSERT(line["caller"].get<std::string>().find("logging_test.cpp:") != std::string::npos);
    CPPUNIT_ASSERT(std::getline(lines, text));
    const auto plugin = nlohmann::json::parse(text);
    CPPUNIT_ASSERT(!plugin.contains("id") && !plugin.contains("caller"));
    set_up_logging({});
  }

  void json_replaces_invalid_utf8() {
    const auto line = nlohmann::json::parse(json_line(record(base::LogLevel::info, "a\xff\xfe")));
    CPPUNIT_ASSERT(line["msg"].get<std::string>().starts_with("a"));
  }

  void verbosity_enables_debug_lines() {
    set_up_logging(with_verbosity(4));
    CPPUNIT_ASSERT(base::log_enabled(base::LogLevel::debug, "store"));
    set_up_logging(with_verbosity(3));
    CPPUNIT_ASSERT(!base::log_enabled(base::LogLevel::debug, "store"));
    CPPUNIT_ASSERT(base::log_enabled(base::LogLevel::info, "plugin.iptables"));
    set_verbosity(4);
    CPPUNIT_ASSERT(base::log_enabled(base::LogLevel::debug, "store"));
    set_verbosity(0);
    CPPUNIT_ASSERT(!base::log_enabled(base::LogLevel::debug, "store"));
    set_up_logging({});
  }

  void logging_is_reconfigured() {
    LoggingPart part;
    const config::Settings quiet;
    config::Settings loud;
    loud.log.verbosity = 4;
    set_up_logging(quiet.log);
    CPPUNIT_ASSERT(!part.concerned(quiet, quiet) && part.concerned(quiet, loud));
    CPPUNIT_ASSERT(part.prepare(quiet, loud).ok());
    CPPUNIT_ASSERT(!base::log_enabled(base::LogLevel::debug, "daemon"));
    part.abandon();
    CPPUNIT_ASSERT(part.prepare(quiet, loud).ok());
    CPPUNIT_ASSERT(part.commit().done == std::vector<std::string>{"logging: text, verbosity 4"});
    CPPUNIT_ASSERT(base::log_enabled(base::LogLevel::debug, "daemon"));
    CPPUNIT_ASSERT(part.prepare(loud, quiet).ok());
    part.commit();
    CPPUNIT_ASSERT(!base::log_enabled(base::LogLevel::debug, "daemon"));
  }

  void patterns_are_globs() {
    CPPUNIT_ASSERT(matches_pattern("plugin.iptables", "plugin.*"));
    CPPUNIT_ASSERT(matches_pattern("sync", "s?nc"));
    CPPUNIT_ASSERT(!matches_pattern("sync", "syn"));
  }

  void vmodule_and_split_streams() {
    config::LogSettings settings;
    settings.split_stream = true;
    settings.info_buffer_size = 4096;
    settings.flush_frequency = std::chrono::hours(1);
    settings.vmodule = {{"st*", 4}, {"kube", 3}};
    const Streams streams;
    set_up_logging(settings);
    base::log(base::LogLevel::info, "kube", "info line");
    base::log(base::LogLevel::debug, "store", "shown");
    base::log(base::LogLevel::debug, "kube", "hidden");
    base::log(base::LogLevel::warning, "kube", "warning line");
    CPPUNIT_ASSERT_EQUAL(std::string(), streams.out());  // buffered
    CPPUNIT_ASSERT(streams.err().find("kube] warning line\n") != std::string::npos);
    CPPUNIT_ASSERT(streams.err().find("info line") == std::string::npos);
    flush_logging();
    CPPUNIT_ASSERT(streams.out().find("kube] info line\n") != std::string::npos);
    CPPUNIT_ASSERT(streams.out().find("store] shown\n") != std::string::npos);
    CPPUNIT_ASSERT(streams.out().find("hidden") == std::string::npos);
    // A full buffer is written, and so is a line that never fits.
    base::log(base::LogLevel::info, "kube", std::string(3000, 'a'));
    base::log(base::LogLevel::info, "kube", std::string(3000, 'b'));
    CPPUNIT_ASSERT(streams.out().find("aaa") != std::string::npos);
    CPPUNIT_ASSERT(streams.out().find("bbb") == std::string::npos);
    base::log(base::LogLevel::info, "kube", std::string(5000, 'c'));
    CPPUNIT_ASSERT(streams.out().find("bbb") < streams.out().find("ccc"));
    base::log(base::LogLevel::info, "kube", "last");
    set_up_logging({});  // reconfiguration flushes the buffer
    CPPUNIT_ASSERT(streams.out().find("last") != std::string::npos);
  }

  void lines_for_the_journal_have_a_priority() {
    const Streams streams;
    const JournalStream journal(STDERR_FILENO);
    set_up_logging(with_verbosity(4));
    for (const base::LogLevel level :
         {base::LogLevel::error, base::LogLevel::warning, base::LogLevel::info, base::LogLevel::debug}) {
      base::log(level, "store", "a line", {});
    }
    std::istringstream lines(streams.err());
    for (const std::string wanted : {"<3>E", "<4>W", "<6>I", "<7>I"}) {
      std::string line;
      std::getline(lines, line);
      CPPUNIT_ASSERT_EQUAL(wanted, line.substr(0, 4));
    }
  }

  // A shell that is itself started by systemd redirects the output of the daemon, and leaves the variable.
  void other_streams_have_no_priority() {
    const Streams streams;
    const JournalStream journal(STDOUT_FILENO);
    set_up_logging(with_verbosity(0));
    base::log(base::LogLevel::warning, "store", "a line", {});
    CPPUNIT_ASSERT_EQUAL(std::string("W"), streams.err().substr(0, 1));
  }

  void reconfiguration_loses_no_line_of_other_threads() {
    const Streams streams;
    set_up_logging({});
    constexpr int kLines = 3000;
    std::thread writer([] {
      for (int i = 0; i < kLines; ++i) base::log(base::LogLevel::info, "kube", "line " + std::to_string(i) + " ends");
    });
    for (int i = 0; i < 200; ++i) {
      config::LogSettings settings;
      settings.format = i % 2 == 0 ? config::LogFormat::json : config::LogFormat::text;
      settings.split_stream = i % 3 == 0;
      settings.info_buffer_size = 1024;
      settings.flush_frequency = std::chrono::milliseconds(20);
      set_up_logging(settings);
    }
    writer.join();
    set_up_logging({});
    int found = 0;
    for (const std::string& text : {streams.out(), streams.err()}) {
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        const bool whole = line.starts_with("{") ? line.find(" ends\"") != std::string::npos : line.ends_with(" ends");
        CPPUNIT_ASSERT_MESSAGE(line, whole);
        ++found;
      }
    }
    CPPUNIT_ASSERT_EQUAL(kLines, found);
  }

 private:
  static config::LogSettings with_verbosity(int verbosity) {
    config::LogSettings out;
    out.verbosity = verbosity;
    return out;
  }

  // Sets the variable with which systemd says that a stream leads to the journal.
  class JournalStream {
   public:
    explicit JournalStream(int fd) {
      struct stat stream {};
      CPPUNIT_ASSERT_EQUAL(0, ::fstat(fd, &stream));
      const std::string name = std::to_string(stream.st_dev) + ":" + std::to_string(stream.st_ino);
      if (const char* const before = std::getenv("JOURNAL_STREAM")) before_ = before;
      ::setenv("JOURNAL_STREAM", name.c_str(), 1);
    }
    ~JournalStream() {
      if (before_) {
        ::setenv("JOURNAL_STREAM", before_->c_str(), 1);
      } else {
        ::unsetenv("JOURNAL_STREAM");
      }
      set_up_logging({});
    }

   private:
    std::optional<std::string> before_;
  };

  // Redirects standard output and standard error to files.
  class Streams {
   public:
    Streams() {
      for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
        std::fflush(nullptr);
        saved_[fd - 1] = ::dup(fd);
        const std::string file = folder_.write(std::to_string(fd), "");
        const lib::Fd opened(::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
        ::dup2(opened.get(), fd);
      }
    }
    ~Streams() {
      for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
        ::dup2(saved_[fd - 1], fd);
        ::close(saved_[fd - 1]);
      }
    }
    std::string out() const { return folder_.read("1"); }
    std::string err() const { return folder_.read("2"); }

   private:
    test::TemporaryFolder folder_;
    int saved_[2] = {-1, -1};
  };
};

CPPUNIT_TEST_SUITE_REGISTRATION(LoggingTest);

}  // namespace logging_test
}  // namespace sluice::logging
