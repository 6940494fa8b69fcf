// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The documentation agrees with the flags and fields that the code accepts.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "core/config/flag_table.hpp"
#include "core/config/option_readers.hpp"
#include "core/config/validate.hpp"
#include "lib/files.hpp"
#include "test/unit/config/problem_text.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::config {
namespace documents_test {

std::string path_of(const std::string& name) {
  const char* source = std::getenv("SLUICE_SRCDIR");
  return std::string(source == nullptr ? "." : source) + "/" + name;
}

std::string read(const std::string& name) {
  const auto text = lib::read_file(path_of(name));
  CPPUNIT_ASSERT_MESSAGE(text.status().message(), text.ok());
  return *text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}
// Without fonts, and without the backslashes of troff before dashes.
std::string manual(const std::string& name) {
  std::string text = read("docs/man/" + name);
  for (const char* font : {"\\fB", "\\fI", "\\fP", "\\fR"}) text = replaced(text, font, "");
  text.erase(std::remove(text.begin(), text.end(), '\\'), text.end());
  return text;
}

class DocumentsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DocumentsTest);
  CPPUNIT_TEST(each_option_is_described);
  CPPUNIT_TEST(the_manual_names_no_other_flag);
  CPPUNIT_TEST(every_field_of_the_manual_is_accepted);
  CPPUNIT_TEST(the_example_configuration_is_usable);
  CPPUNIT_TEST(the_defaults_of_the_example_configuration_are_right);
  CPPUNIT_TEST_SUITE_END();

 public:
  // docs/reference and the manual pages have these texts; see test/unit/reference.
  void each_option_is_described() {
    for (const Option& option : options()) {
      const std::string name(option.field.empty() ? option.flag : option.field);
      for (const std::string_view sentence :
           {option.help, option.note, option.flag_note, option.field_note, option.reload}) {
        CPPUNIT_ASSERT_MESSAGE(name, sentence.empty() || sentence.ends_with('.'));
      }
      CPPUNIT_ASSERT_MESSAGE(name, !option.help.empty());
      // A field says what a reload makes of its change, and only a change with a refusal may be rejected always.
      CPPUNIT_ASSERT_EQUAL_MESSAGE(name, option.field.empty(), option.reload.empty());
      if (option.reload.starts_with("Rejected")) CPPUNIT_ASSERT_MESSAGE(name, option.change.refusal != nullptr);
      if (option.change.refusal != nullptr) {
        CPPUNIT_ASSERT_MESSAGE(name, option.reload.find("Rejected") != std::string_view::npos);
      }
    }
  }

  void the_manual_names_no_other_flag() {
    const std::string text = manual("sluiced.8");
    for (std::size_t at = 0; (at = text.find("--", at)) != std::string::npos;) {
      at += 2;
      std::size_t end = at;
      while (end < text.size() && (std::islower(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-')) ++end;
      const std::string name = text.substr(at, end - at);
      if (name.empty()) continue;
      CPPUNIT_ASSERT_MESSAGE(name, find_flag(name) != nullptr || find_retired_flag(name).found);
    }
  }

  // Fields are the entries: ".B a.b" or ".BR a.b …, c.d …". Options of backends are fields of sections of their own.
  void every_field_of_the_manual_is_accepted() {
    std::string text = manual("sluiced.conf.5");
    const std::size_t of_backends = text.find("\n.SH OPTIONS OF BACKENDS\n");
    CPPUNIT_ASSERT(of_backends != std::string::npos);
    text.erase(of_backends, text.find("\n.SH ", of_backends + 1) - of_backends);
    std::set<std::string> fields;
    for (std::size_t at = 0; (at = text.find("\n.TP\n", at)) != std::string::npos;) {
      at += 5;
      std::string line = text.substr(at, text.find('\n', at) - at);
      line = line.substr(line.find(' ') + 1);
      std::string word;
      for (const char c : line + " ") {
        if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '.') {
          word += c;
          continue;
        }
        // A word in parentheses is a default.
        if (c == ' ' && word.size() > 3 && line.find("(" + word) == std::string::npos) fields.insert(word);
        word.clear();
      }
    }
    CPPUNIT_ASSERT_MESSAGE("the manual is read wrongly", fields.size() > 25);
    // The manual contains every field.
    for (const Option& option : options()) {
      const std::string field(option.field);
      CPPUNIT_ASSERT_MESSAGE(field, field.empty() || fields.count(field) != 0);
    }
    for (const std::string& field : fields) {
      Draft draft;
      Problems problems;
      std::string yaml = fields_of(Document::sluice).count(field) != 0
                             ? "apiVersion: sluice.dev/v1alpha1\nkind: SluiceConfiguration\n"
                             : "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";
      std::string indent;
      for (std::size_t at = 0, dot = 0; dot != std::string::npos; at = dot + 1) {
        dot = field.find('.', at);
        yaml += indent + field.substr(at, dot - at) + ":\n";
        indent += "  ";
      }
      const test::TemporaryFolder folder;
      const Flags flags = parse_flags({"--check", "--config=" + folder.write("c.yaml", yaml)}, problems);
      read_configuration(flags, {}, problems);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(field, std::string(), test::problem_text(problems));
    }
  }

  void the_example_configuration_is_usable() {
    const Settings settings = validate_text(read("packaging/etc/config.yaml"));
    CPPUNIT_ASSERT_EQUAL(std::string("nftables"), settings.backend);
    CPPUNIT_ASSERT(settings.node_ports.primary);
  }

  // Every setting in a comment is accepted without the comment mark. A setting that shows the default changes nothing.
  void the_defaults_of_the_example_configuration_are_right() {
    const std::string example = read("packaging/etc/config.yaml");
    std::string with_defaults;
    std::string with_all;
    std::size_t taken = 0;
    for (std::size_t at = 0; at < example.size();) {
      const std::size_t end = example.find('\n', at);
      const std::string line = example.substr(at, end - at);
      at = end + 1;
      const std::size_t mark = line.find("# ");
      const bool comment = mark != std::string::npos && line.find_first_not_of(' ') == mark;
      const std::string inside = comment ? line.substr(0, mark) + line.substr(mark + 2) : line;
      // A setting is one lower-case word, a colon, and a value or the lines below.
      const std::size_t colon = inside.find(':');
      const std::string word = inside.substr(0, colon);
      const bool setting = comment && colon != std::string::npos &&
                           word.find_last_of(' ') == word.find_first_not_of(' ') - 1 &&
                           std::islower(static_cast<unsigned char>(word[word.find_first_not_of(' ')])) != 0;
      const bool is_default = setting && inside.find("no default") == std::string::npos;
      taken += setting ? 1 : 0;
      with_all += (setting ? inside : line) + "\n";
      // Sections and sources and their fields have no default.
      const bool free = word.starts_with("backends") || word.starts_with("  com.") || word.starts_with("  ipvs") ||
                        word.starts_with("  nftables") || word.starts_with("    affinityClients") ||
                        word.starts_with("    counters") || word.starts_with("    offloadInterfaces") || word.starts_with("    queues") ||
                        word.starts_with("    whenEndpointRemoved") || word.starts_with("    drainTimeout") ||
                        word.starts_with("clientConnection");
      with_defaults += (is_default && !free ? inside : line) + "\n";
    }
    CPPUNIT_ASSERT_MESSAGE("the example is read wrongly", taken > 12);
    CPPUNIT_ASSERT(validate_text(example) == validate_text(with_defaults));
    Problems problems;
    problems_of(with_all, problems);
    // With all settings, the errors are the second source and the missing backend.
    const std::string text = test::problem_text(problems);
    CPPUNIT_ASSERT_EQUAL_MESSAGE(text, std::size_t{2}, problems.errors());
    CPPUNIT_ASSERT(text.find("names a second source") != std::string::npos);
    CPPUNIT_ASSERT(text.find("com.example.dpu' is not installed") != std::string::npos);
  }

 private:
  static Settings problems_of(const std::string& text, Problems& problems) {
    const test::TemporaryFolder folder;
    const Flags flags = parse_flags({"--check", "--config=" + folder.write("c.yaml", text)}, problems);
    const Draft draft = read_configuration(flags, {{"/lib"}, "/run/sluice"}, problems);
    Settings out = validate(draft, {{"iptables", "nftables"}, "host"}, problems);
    out.config_file.clear();
    out.flags.clear();  // they name the file
    return out;
  }
  static Settings validate_text(const std::string& text) {
    Problems problems;
    Settings out = problems_of(text, problems);
    CPPUNIT_ASSERT_EQUAL(std::string(), test::problem_text(problems));
    return out;
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DocumentsTest);

}  // namespace documents_test
}  // namespace sluice::config
