// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tests all rows of the table of options.
#include "test/unit/config/option_table.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/config/option_readers.hpp"
#include "core/config/validate.hpp"
#include "core/config/values.hpp"
#include "test/unit/config/problem_text.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::config {
namespace option_table_test {

using test::Option;
using test::option_table;
using test::Refused;

const std::string kProxy = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";

struct Result {
  Settings settings;
  std::string problems;

  std::vector<std::string> errors() const {
    std::vector<std::string> out;
    std::istringstream lines(problems);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("E ")) out.push_back(line.substr(2));
    }
    return out;
  }
};

Result read_words(const std::vector<std::string>& words) {
  Problems problems;
  const Flags flags = parse_flags(words, problems);
  Result out;
  if (!problems.has_errors()) {
    const Draft draft = read_configuration(flags, {{"/lib/plugins"}, "/run/sluice"}, problems);
    out.settings =
        validate(draft, {{"com.example.dpu", "iptables", "ipvs", "nftables", "userspace"}, "Host-1"}, problems);
  }
  out.problems = test::problem_text(problems);
  return out;
}

// "a.b: value" as nested YAML blocks.
std::string field_yaml(const std::string& field, const std::string& value) {
  std::string out;
  std::string indent;
  std::istringstream parts(field);
  for (std::string part; std::getline(parts, part, '.');) {
    out += (out.empty() ? "" : "\n") + indent + part + ":";
    indent += "  ";
  }
  return out + " " + value + "\n";
}

// The value in the effective configuration: strings without quotes, empty if the field is missing.
std::string effective(const Settings& settings, const std::string& field) {
  nlohmann::ordered_json at = nlohmann::ordered_json::parse(settings.kube_proxy_configuration);
  std::istringstream parts(field);
  for (std::string part; std::getline(parts, part, '.');) {
    if (!at.contains(part)) return "";
    at = nlohmann::ordered_json(at[part]);
  }
  return at.is_string() ? at.get<std::string>() : at.dump();
}

std::string yaml_of(const Option& option) { return option.yaml.empty() ? option.other : option.yaml; }
std::string wanted(const Option& option) { return option.effective.empty() ? option.other : option.effective; }
bool is_action(const Option& option) { return option.other.empty() && option.field.empty(); }

class OptionTableTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OptionTableTest);
  CPPUNIT_TEST(every_flag_and_every_field_is_in_the_table);
  CPPUNIT_TEST(defaults);
  CPPUNIT_TEST(a_flag_changes_its_setting);
  CPPUNIT_TEST(a_field_changes_its_setting);
  CPPUNIT_TEST(only_marked_flags_apply_with_a_file);
  CPPUNIT_TEST(rejects_wrong_values);
  CPPUNIT_TEST(rejects_malformed_values);
  CPPUNIT_TEST(empty_flags_keep_the_default);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder folder_;

  Result read_file(const std::string& fields, std::vector<std::string> words = {}) {
    words.push_back("--config=" + folder_.write("c.yaml", kProxy + fields));
    return read_words(words);
  }
  static Result with_flag(const Option& option, const std::string& value) {
    std::vector<std::string> words = option.flags_besides;
    words.push_back("--" + option.flag + "=" + value);
    return read_words(words);
  }
  Result with_field(const Option& option, const std::string& value) {
    return read_file(option.yaml_besides + field_yaml(option.field, value));
  }
  static void require_effective(const Option& option, const std::string& name, const Result& result) {
    CPPUNIT_ASSERT_EQUAL_MESSAGE(name + "\n" + result.problems, std::size_t{0}, result.errors().size());
    if (!option.field.empty()) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(name, wanted(option), effective(result.settings, option.field));
    }
    if (option.arrives != nullptr) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(name + " in the settings", wanted(option), option.arrives(result.settings));
    }
  }
  static void require_refused(const std::string& where, const std::string& message, const Result& result) {
    const auto errors = result.errors();
    CPPUNIT_ASSERT_EQUAL_MESSAGE(where + "\n" + result.problems, std::size_t{1}, errors.size());
    CPPUNIT_ASSERT_MESSAGE(errors[0], errors[0].starts_with(where));
    const auto colon = errors[0].find(": ", where.size());
    CPPUNIT_ASSERT_EQUAL(message, errors[0].substr(colon + 2));
  }

 public:
  void every_flag_and_every_field_is_in_the_table() {
    std::set<std::string> flags;
    std::set<std::string> fields{"apiVersion", "kind"};
    for (const Option& option : option_table()) {
      if (!option.flag.empty()) {
        CPPUNIT_ASSERT_MESSAGE(option.flag + " is there twice", flags.insert(option.flag).second);
        CPPUNIT_ASSERT_MESSAGE(option.flag, find_flag(option.flag) != nullptr);
        CPPUNIT_ASSERT_MESSAGE(option.flag + " has another kind", find_flag(option.flag)->kind == option.kind);
      }
      if (!option.field.empty()) fields.insert(option.field);
    }
    for (const auto* flag : flag_table()) {
      CPPUNIT_ASSERT_MESSAGE(std::string(flag->flag), flags.count(std::string(flag->flag)) != 0);
    }
    const Fields& known = fields_of(Document::kube_proxy);
    for (const auto& [field, option] : known) {
      CPPUNIT_ASSERT_MESSAGE(std::string(field), fields.count(std::string(field)) != 0);
    }
    CPPUNIT_ASSERT_EQUAL(known.size(), fields.size());
  }

  void defaults() {
    const Settings flags = read_words({}).settings;
    const Settings file = read_file("").settings;
    for (const Option& option : option_table()) {
      if (option.field.empty()) continue;
      CPPUNIT_ASSERT_EQUAL_MESSAGE(option.field, option.by_default, effective(flags, option.field));
      CPPUNIT_ASSERT_EQUAL_MESSAGE(option.field + " of the file", option.by_default, effective(file, option.field));
      // The default in --help and in the log is the effective one; 0s stands for adaptive in a file.
      if (option.flag.empty() || option.kind == FlagKind::list) continue;
      const std::string shown = default_text(*find_flag(option.flag));
      if (shown != "false" && shown != "adaptive") CPPUNIT_ASSERT_EQUAL_MESSAGE(option.flag, option.by_default, shown);
    }
  }

  void a_flag_changes_its_setting() {
    for (const Option& option : option_table()) {
      if (option.flag.empty() || is_action(option)) continue;
      require_effective(option, "--" + option.flag, with_flag(option, option.other));
    }
  }

  void a_field_changes_its_setting() {
    for (const Option& option : option_table()) {
      if (option.field.empty()) continue;
      Option in_file = option;
      if (option.field.starts_with("nftables.")) in_file.flags_besides.clear();
      require_effective(in_file, option.field, with_field(option, yaml_of(option)));
    }
  }

  void only_marked_flags_apply_with_a_file() {
    for (const Option& option : option_table()) {
      if (option.flag.empty() || option.field.empty()) continue;
      const std::string given = "--" + option.flag + "=" + option.other;
      const bool beats = find_flag(option.flag)->beats_file;
      const Result beside = read_file("", {given});
      CPPUNIT_ASSERT_EQUAL_MESSAGE(option.flag, beats, effective(beside.settings, option.field) == wanted(option));
      const std::string warning =
          "W --config: these flags are ignored because a file is given: --" + option.flag + "\n";
      CPPUNIT_ASSERT_EQUAL_MESSAGE(option.flag, beats ? std::string::npos : 0, beside.problems.find(warning));
      // The value of the file applies.
      const Result both =
          read_file(field_yaml(option.field, yaml_of(option)), beats ? std::vector<std::string>{} : std::vector{given});
      CPPUNIT_ASSERT_EQUAL_MESSAGE(option.flag, wanted(option), effective(both.settings, option.field));
    }
  }

  void rejects_wrong_values() {
    for (const Option& option : option_table()) {
      for (const Refused& wrong : option.refused) {
        if (!option.flag.empty()) require_refused("--" + option.flag, wrong.message, with_flag(option, wrong.value));
        if (option.field.empty()) continue;
        const Result result = with_field(option, wrong.yaml.empty() ? wrong.value : wrong.yaml);
        require_refused(folder_.path("c.yaml") + ":", wrong.message, Result{{}, without_line(result, option.field)});
      }
    }
  }

  void rejects_malformed_values() {
    for (const Option& option : option_table()) {
      std::string flag;
      std::string field;
      switch (option.kind) {
        case FlagKind::boolean:
          flag = "'?' is not a boolean; allowed: true or false";
          field = flag + ", without quotes";
          break;
        case FlagKind::number:
          flag = "'?' is not a number; allowed: a whole number, such as 14";
          field = "'?' is not a number; allowed: a whole number without quotes, such as 14";
          break;
        case FlagKind::decimal:
          flag = "'?' is not a number; allowed: a number, such as 5 or 0.5";
          field = "'?' is not a number; allowed: a number without quotes, such as 5 or 0.5";
          break;
        case FlagKind::duration:
          flag = "'?' is not a duration; " + std::string(kDurationAllowed);
          field = flag;
          break;
        case FlagKind::text:
        case FlagKind::list:
        case FlagKind::repeated:
          continue;
      }
      if (!option.flag.empty()) require_refused("--" + option.flag, flag, read_words({"--" + option.flag + "=?"}));
      if (option.field.empty()) continue;
      const Result result = read_file(field_yaml(option.field, "'?'"));
      require_refused(folder_.path("c.yaml") + ":", field, Result{{}, without_line(result, option.field)});
    }
  }

  void empty_flags_keep_the_default() {
    const Settings untouched = read_words({}).settings;
    for (const Option& option : option_table()) {
      if (option.kind != FlagKind::text || option.flag.empty() || option.flag == "version") continue;
      Result result = read_words({"--" + option.flag + "="});
      CPPUNIT_ASSERT_EQUAL_MESSAGE(option.flag, std::string(), result.problems);
      result.settings.flags = untouched.flags;
      CPPUNIT_ASSERT_MESSAGE(option.flag, result.settings == untouched);
    }
  }

 private:
  // "file:4: a.b[0]: words" → "file:4: words" if it is an error of this field.
  static std::string without_line(const Result& result, const std::string& field) {
    std::string out;
    for (const std::string& error : result.errors()) {
      const auto at = error.find(": " + field);
      CPPUNIT_ASSERT_MESSAGE(field + "\n" + result.problems, at != std::string::npos);
      const auto words = error.find(": ", at + 2);
      out += "E " + error.substr(0, at) + error.substr(words) + "\n";
    }
    return out;
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OptionTableTest);

}  // namespace option_table_test
}  // namespace sluice::config
