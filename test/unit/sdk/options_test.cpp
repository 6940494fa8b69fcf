// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The values of a daemon of minor 0, as text, and of a later one, typed.
#include "sluice/sdk/options.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::sdk {
namespace options_test {

using namespace std::chrono_literals;

enum class Colour { kRed, kGreen };

constexpr abi::OptionSpec kTable[] = {
    option::word("colour", "red", "red|green", "A colour."),
    option::boolean("loud", "true", "Louder."),
    option::list(3, option::text("names[]", "a, b", "a letter", "Names.")),
    option::duration("pause", "90s", 1ms, 24h, "A pause."),
    option::integer("threads", "4", 1, 64, "threads", "Threads."),
    option::list(4, option::duration("timeouts[]", "1s", 0s, 1h, "Timeouts.")),
};

Options read(const std::vector<abi::Option>& given) {
  return Options(array(given.data(), given.size()), array(kTable));
}
abi::Option untyped(std::string_view key, std::string_view value) { return {view(key), view(value), {}, 0, 0}; }

class OptionsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OptionsTest);
  CPPUNIT_TEST(an_older_daemon_passes_texts_that_are_parsed);
  CPPUNIT_TEST(an_older_daemon_passes_invalid_values_that_are_rejected);
  CPPUNIT_TEST(a_typed_value_is_taken_as_it_is);
  CPPUNIT_TEST(rejected_values_name_the_allowed_ones);
  CPPUNIT_TEST(a_key_that_is_not_declared_is_a_defect);
  CPPUNIT_TEST(without_a_table_options_are_texts);
  CPPUNIT_TEST_SUITE_END();

  void an_older_daemon_passes_texts_that_are_parsed() {
    const Options options = read({untyped("colour", "green"), untyped("names[1]", "d"), untyped("names[0]", "c"),
                                  untyped("timeouts[0]", "2s"), untyped("timeouts[1]", "3s")});
    CPPUNIT_ASSERT(options.word<Colour>("colour") == Colour::kGreen);
    CPPUNIT_ASSERT(options.boolean("loud"));
    CPPUNIT_ASSERT((std::vector<std::string>{"c", "d"}) == options.strings("names"));
    CPPUNIT_ASSERT(options.duration("pause") == 90s);
    CPPUNIT_ASSERT_EQUAL(std::int64_t{4}, options.integer("threads"));
    CPPUNIT_ASSERT((std::vector<std::chrono::nanoseconds>{2s, 3s}) == options.durations("timeouts"));
    CPPUNIT_ASSERT(options.has("colour") && !options.has("threads"));
    CPPUNIT_ASSERT(options.value("threads").is_default && !options.value("colour").is_default);
    CPPUNIT_ASSERT((std::vector<std::string>{"a", "b"}) == read({}).strings("names"));
  }

  void an_older_daemon_passes_invalid_values_that_are_rejected() {
    for (const abi::Option& wrong : {untyped("threads", "0"), untyped("thread", "1"), untyped("threads[0]", "1")}) {
      try {
        read({wrong});
        CPPUNIT_FAIL(std::string(text(wrong.key)));
      } catch (const Failure& failure) {
        CPPUNIT_ASSERT(failure.code() == abi::Code::kInvalid);
        CPPUNIT_ASSERT_EQUAL(std::string(text(wrong.key)), failure.object());
      }
    }
  }

  void a_typed_value_is_taken_as_it_is() {
    const Options options = read({{view("threads"), view("7"), abi::OptionType::kInteger, 0, 7},
                                  {view("names[0]"), view("c"), abi::OptionType::kText, 0, 0},
                                  {view("pause"), view("90s"), abi::OptionType::kDuration, abi::kOptionDefault, 90'000'000'000}});
    CPPUNIT_ASSERT_EQUAL(std::int64_t{7}, options.integer("threads"));
    CPPUNIT_ASSERT(options.duration("pause") == 90s && options.value("pause").is_default && !options.has("pause"));
    CPPUNIT_ASSERT((std::vector<std::string>{"c"}) == options.strings("names"));
    CPPUNIT_ASSERT(options.list("timeouts").empty());
  }

  void rejected_values_name_the_allowed_ones() {
    const Options options = read({untyped("names[0]", "42")});
    try {
      options.reject(options.list("names")[0]);
    } catch (const Failure& failure) {
      CPPUNIT_ASSERT_EQUAL(std::string("names[0]"), failure.object());
      CPPUNIT_ASSERT_EQUAL(std::string("'42' is not a valid value; allowed: a letter"), std::string(failure.what()));
      return;
    }
  }

  void a_key_that_is_not_declared_is_a_defect() {
    CPPUNIT_ASSERT_THROW(read({}).integer("speed"), std::logic_error);
    CPPUNIT_ASSERT_THROW(read({}).integer("timeouts[0]"), std::logic_error);
  }

  void without_a_table_options_are_texts() {
    const std::vector<abi::Option> given{untyped("b", "2"), untyped("a", "1")};
    const Options options(array(given.data(), given.size()));
    CPPUNIT_ASSERT_EQUAL(std::string("1"), options.get("a"));
    CPPUNIT_ASSERT_EQUAL(std::string("other"), options.get("c", "other"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, options.all().size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OptionsTest);

}  // namespace options_test
}  // namespace sluice::sdk
