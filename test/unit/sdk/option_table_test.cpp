// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "sluice/sdk/option_table.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "lib/duration.hpp"

namespace sluice::sdk {
namespace option_table_test {

using namespace std::chrono_literals;
using Given = std::vector<std::pair<std::string, std::string>>;

constexpr abi::OptionSpec kTable[] = {
    option::boolean("loud", "false", "Louder."),
    option::list(3, option::text("names[]", "a, b", "", "Names.")),
    option::duration("pause", "1m30s", 1ms, 24h, "A pause."),
    option::integer("threads", "4", 1, 64, "threads", "Threads."),
    option::restart(option::word("colour", "green", "red|green|blue", "A colour.")),
    option::list(0, option::duration("timeouts[]", "", 0s, 1h, "Timeouts.")),
};

std::string problems(const Given& given) {
  std::vector<OptionValue> unused;
  std::string out;
  for (const OptionProblem& problem : read_options(rows(array(kTable)), given, unused)) {
    out += problem.key + ": " + problem.text + "\n";
  }
  return out;
}

std::string typed_text(const Given& given) {
  std::vector<OptionValue> all;
  CPPUNIT_ASSERT(read_options(rows(array(kTable)), given, all).empty());
  std::string out;
  for (const OptionValue& one : all) {
    out += one.key + "=" + one.text + "(" + std::to_string(one.number) + ")" + (one.is_default ? "*" : "") + " ";
  }
  return out;
}

std::string problem_of(abi::OptionSpec spec) { return table_problem(array(&spec, 1)); }

class OptionTableTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OptionTableTest);
  CPPUNIT_TEST(missing_keys_have_their_defaults);
  CPPUNIT_TEST(values_are_numbers);
  CPPUNIT_TEST(elements_of_a_list_are_in_order);
  CPPUNIT_TEST(all_problems_are_reported);
  CPPUNIT_TEST(a_long_list_is_one_problem);
  CPPUNIT_TEST(an_option_of_another_shape_is_one_problem);
  CPPUNIT_TEST(a_backend_without_options_rejects_all);
  CPPUNIT_TEST(ranges_without_a_bound_are_described);
  CPPUNIT_TEST(an_unknown_type_is_a_text);
  CPPUNIT_TEST(durations_are_those_of_the_daemon);
  CPPUNIT_TEST(durations_are_printed_short);
  CPPUNIT_TEST(mistakes_in_a_table_are_named);
  CPPUNIT_TEST_SUITE_END();

  void missing_keys_have_their_defaults() {
    CPPUNIT_ASSERT_EQUAL(std::string(), table_problem(array(kTable)));
    CPPUNIT_ASSERT_EQUAL(std::string("loud=false(0)* names[0]=a(0)* names[1]=b(0)* pause=1m30s(90000000000)* threads=4(4)* "
                                     "colour=green(1)* "),
                         typed_text({}));
  }

  void values_are_numbers() {
    const std::string read =
        typed_text({{"loud", "true"}, {"pause", "1ms"}, {"threads", "64"}, {"colour", "blue"}, {"names[0]", "c"}});
    CPPUNIT_ASSERT_EQUAL(std::string("colour=blue(2) loud=true(1) names[0]=c(0) pause=1ms(1000000) threads=64(64) "), read);
  }

  void elements_of_a_list_are_in_order() {
    Given given;
    for (const char* index : {"10", "2", "0", "1", "9", "8", "7", "6", "5", "4", "3"}) {
      given.emplace_back("timeouts[" + std::string(index) + "]", std::string(index) + "s");
    }
    const std::string read = typed_text(given);
    CPPUNIT_ASSERT_MESSAGE(read, read.find("timeouts[9]=9s(9000000000) timeouts[10]=10s") != std::string::npos);
  }

  void all_problems_are_reported() {
    CPPUNIT_ASSERT_EQUAL(std::string("colour: 'pink' is not a valid value; allowed: red, green or blue\n"
                                     "loud: 'yes' is not a valid value; allowed: true or false\n"
                                     "pause: '25h' is not a valid value; allowed: a duration from 1ms to 24h\n"
                                     "speed: unknown setting; allowed: loud, names, pause, threads, colour, timeouts\n"
                                     "thread: unknown setting; did you mean threads?\n"
                                     "threads: '65' is not a valid value; allowed: a number of threads from 1 to 64\n"),
                         problems({{"loud", "yes"},
                                   {"pause", "25h"},
                                   {"threads", "65"},
                                   {"thread", "1"},
                                   {"speed", "1"},
                                   {"colour", "pink"}}));
    for (const char* wrong : {"", " 1", "1 ", "+1", "0x1", "1.0", "99999999999999999999", "0", "-1"}) {
      CPPUNIT_ASSERT_MESSAGE(wrong, !problems({{"threads", wrong}}).empty());
    }
  }

  void a_long_list_is_one_problem() {
    Given given;
    for (int i = 0; i < 9; ++i) given.emplace_back("names[" + std::to_string(i) + "]", "x");
    CPPUNIT_ASSERT_EQUAL(
        std::string("names[3]: the list is too long; allowed: a list of at most 3 elements, each any text\n"),
        problems(given));
  }

  void an_option_of_another_shape_is_one_problem() {
    CPPUNIT_ASSERT_EQUAL(std::string("threads[0]: is a list or a map; allowed for threads: a number of threads from 1 to "
                                     "64\n"),
                         problems({{"threads[0]", "1"}, {"threads[1]", "1"}, {"threads.x", "1"}}));
    CPPUNIT_ASSERT_EQUAL(
        std::string("names: is not a list; allowed for names: a list of at most 3 elements, each any text\n"),
        problems({{"names", "x"}}));
    CPPUNIT_ASSERT(problems({{"names[0].x", "x"}}).find("is not a list") != std::string::npos);
  }

  void a_backend_without_options_rejects_all() {
    std::vector<OptionValue> unused;
    const auto problems = read_options(rows(option::none()), {{"a", "b"}}, unused);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, problems.size());
    CPPUNIT_ASSERT_EQUAL(std::string("unknown setting; the backend has none"), problems[0].text);
    CPPUNIT_ASSERT_EQUAL(std::string(), table_problem(option::none()));
  }

  void ranges_without_a_bound_are_described() {
    const auto text = [](std::int64_t low, std::int64_t high) {
      return allowed_text(option::integer("a", "1", low, high, "", "."));
    };
    CPPUNIT_ASSERT_EQUAL(std::string("a number"), text(option::kLowest, option::kHighest));
    CPPUNIT_ASSERT_EQUAL(std::string("a number of -1 or more"), text(-1, option::kHighest));
    CPPUNIT_ASSERT_EQUAL(std::string("a number of at most 7"), text(option::kLowest, 7));
  }

  void an_unknown_type_is_a_text() {
    abi::OptionSpec spec = option::text("a", "default", "", ".");
    spec.value_type = static_cast<abi::OptionType>(99);
    CPPUNIT_ASSERT_EQUAL(std::string(), problem_of(spec));
    std::vector<OptionValue> read;
    CPPUNIT_ASSERT(read_options({spec}, {{"a", "anything"}}, read).empty());
    CPPUNIT_ASSERT(read[0].type == abi::OptionType::kText && read[0].text == "anything");
  }

  void durations_are_those_of_the_daemon() {
    for (const char* text : {"", "0", "0s", "5", "s", ".s", "-1s", "+1s", "1 s", "1x", "1s ", "1d", "3000000h", "1e3s", "1ns",
                             "1us", "2\u00b5s", "2\u03bcs", "250ms", ".5s", "1.s", "1.25s", "1m30s", "1h0m0s", "0.1s",
                             "1.5h", "2562047h", "0.123456789123s", "99999999999999999999s", "2562047h2562047h", "-", "1m-1s",
                             "9223372036854775807ns", "9223372036854775808ns", "-0.5ms"}) {
      const auto daemon = lib::parse_duration(text);
      const auto sdk = parse_nanoseconds(text);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(text, daemon.has_value(), sdk.has_value());
      if (daemon) CPPUNIT_ASSERT_EQUAL_MESSAGE(text, daemon->count(), *sdk);
    }
  }

  void durations_are_printed_short() {
    for (const char* text : {"0s", "24h", "1m30s", "250ms", "1h1ns", "-5us", "720h", "1m"}) {
      CPPUNIT_ASSERT_EQUAL(std::string(text), print_nanoseconds(*parse_nanoseconds(text)));
    }
    CPPUNIT_ASSERT_EQUAL(option::kLowest, -*parse_nanoseconds(print_nanoseconds(option::kHighest)) - 1);
  }

  void mistakes_in_a_table_are_named() {
    const auto number = [](std::string_view key, std::string_view value, std::int64_t low, std::int64_t high) {
      return option::integer(key, value, low, high, "", ".");
    };
    CPPUNIT_ASSERT_EQUAL(std::string("option 'a': its default: '9' is not a valid value; allowed: a number from 1 to 3"),
                         problem_of(number("a", "9", 1, 3)));
    CPPUNIT_ASSERT_EQUAL(std::string("option 'a': its minimum exceeds its maximum; exchange them"),
                         problem_of(number("a", "2", 3, 1)));
    CPPUNIT_ASSERT_EQUAL(std::string("option 'a': it has no words; set words"), problem_of(option::word("a", "", "", ".")));
    abi::OptionSpec untyped = number("a", "1", 1, 1);
    untyped.value_type = abi::OptionType::kUndeclared;
    CPPUNIT_ASSERT_EQUAL(std::string("option 'a': it has no type; set value_type"), problem_of(untyped));
    CPPUNIT_ASSERT_EQUAL(std::string("option 'a': its default has more than 1 elements; shorten it"),
                         problem_of(option::list(1, option::text("a[]", "x, y", "", "."))));
    const std::string long_text(kMaxOptionText + 1, 'x');
    CPPUNIT_ASSERT_EQUAL(std::string("option 'a': a text is null or too long; use at most 1024 bytes"),
                         problem_of(option::boolean("a", "true", long_text)));
    abi::OptionSpec null = option::boolean("a", "true", ".");
    null.help = {nullptr, 5};
    CPPUNIT_ASSERT_EQUAL(std::string("option 'a': a text is null or too long; use at most 1024 bytes"), problem_of(null));
    for (const std::string& key : {std::string(), std::string("[]"), std::string("a b"), std::string("a[0]"),
                                   std::string(kMaxOptionKey + 1, 'a')}) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(key, std::string("option 1 has no valid key; use 1 to 128 letters, digits, '.', '-' and "
                                                    "'_', and \"[]\" at the end of a list"),
                                   problem_of(option::boolean(key, "true", ".")));
    }
    const std::array twice{option::boolean("a", "true", "."), option::list(1, option::text("a[]", "", "", "."))};
    CPPUNIT_ASSERT_EQUAL(std::string("option 'a': it is declared twice; declare it once"),
                         table_problem(array(twice.data(), twice.size())));
    const std::array inside{option::boolean("a", "true", "."), option::boolean("a.b", "true", ".")};
    CPPUNIT_ASSERT_EQUAL(std::string("option 'a.b': 'a' is an option, too, and cannot contain it; rename one of them"),
                         table_problem(array(inside.data(), inside.size())));
    const std::vector<abi::OptionSpec> many(kMaxOptions + 1, number("a", "1", 1, 1));
    CPPUNIT_ASSERT_EQUAL(std::string("it declares 257 options; declare at most 256"),
                         table_problem(array(many.data(), many.size())));
    abi::ArrayView short_rows = array(kTable);
    short_rows.stride = 64;
    CPPUNIT_ASSERT_EQUAL(std::string("the stride of the options is 64; set it to sizeof(OptionSpec)"),
                         table_problem(short_rows));
    CPPUNIT_ASSERT_EQUAL(std::string("the options have a count, but no data; set both"), table_problem({nullptr, 1, 128, 0}));
    CPPUNIT_ASSERT_EQUAL(std::string(), table_problem({}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OptionTableTest);

}  // namespace option_table_test
}  // namespace sluice::sdk
