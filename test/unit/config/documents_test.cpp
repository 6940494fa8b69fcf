// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The documentation agrees with the flags and fields that the code accepts.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <set>

#include "core/config/flag_table.hpp"
#include "core/config/option_readers.hpp"
#include "core/config/validate.hpp"
#include "lib/files.hpp"
#include "test/unit/config/generated_part.hpp"
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
std::string with_dashes(const std::string& text) { return replaced(text, "-", "\\-"); }

// ".BI \-\-name " VALUE\fR,...\fP" " \fR[\fPfile\fR]\fP"": what the user replaces is in italics.
std::string heading_of_flag(const Option& flag) {
  if (flag.flag == "version") return R"(.BR \-\-version [ =raw | =v\fIX.Y.Z\fP ])";
  if (flag.flag == "help") return R"(.BR \-h ", " \-\-help)";
  if (flag.flag == "v") return R"(.BI \-v " LEVEL\fR, \fP" \-\-v " LEVEL")";
  const std::string name = with_dashes("--" + std::string(flag.flag));
  if (flag.kind == FlagKind::boolean) return flag.beats_file ? ".B " + name : ".BR " + name + R"( " [" \fIfile\fP ])";
  std::string value;
  bool roman = false;
  for (const char c : flag.value_name) {
    if ((std::strchr("[],:|.", c) != nullptr) != roman) {
      roman = !roman;
      value += roman ? "\\fR" : "\\fP";
    }
    value += c == '-' ? "\\-" : std::string(1, c);
  }
  return ".BI " + name + " \" " + value + (roman ? "\\fP" : "") + "\"" +
         (flag.beats_file ? "" : R"( " \fR[\fPfile\fR]\fP")");
}

// The help with a default in its first sentence, and names of flags in bold.
std::string summary_of(const Option& option, const std::string& value) {
  std::string out(option.help);
  if (!value.empty() && value != "false") {
    out.insert(std::min(out.find(". "), out.size() - 1), " (default " + value + ")");
  }
  for (std::size_t at = 0; (at = out.find("--", at)) != std::string::npos;) {
    std::size_t end = out.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
    if (end == std::string::npos) end = out.size();
    out.insert(end, "\\fP");
    out.insert(at, "\\fB");
    at = end + 6;
  }
  return with_dashes(out);
}

// What an entry of a manual page begins with; the text behind it is written by hand.
struct Entry {
  std::string name;
  std::string heading;
  std::string summary;
};

// An entry is a paragraph mark, then a line with a font and the name.
std::size_t find_entry(const std::string& text, const std::string& name) {
  for (std::size_t at = 0; (at = text.find("\n.TP\n", at)) != std::string::npos; at += 5) {
    const std::string heading = text.substr(at + 5, text.find('\n', at + 5) - at - 5) + " ";
    if (heading.find(" " + name + " ") != std::string::npos) return at + 1;
  }
  return std::string::npos;
}

// With SLUICE_WRITE_DOCS=1 changes the entries, and adds a missing one behind the entry that precedes it.
void require_entries(const std::string& page, const std::vector<Entry>& entries) {
  std::string text = read(page);
  const bool write = std::getenv("SLUICE_WRITE_DOCS") != nullptr;
  std::size_t previous = std::string::npos;
  for (const Entry& entry : entries) {
    const std::string begin = ".TP\n" + entry.heading + "\n" + entry.summary + "\n";
    std::size_t at = find_entry(text, entry.name);
    std::size_t end = at;
    if (at != std::string::npos) {
      end = text.find('\n', text.find('\n', at + 4) + 1) + 1;
    } else {
      CPPUNIT_ASSERT_MESSAGE(page + " has no entry " + entry.name, write && previous != std::string::npos);
      at = end = std::min(text.find("\n.TP\n", previous + 4), text.find("\n.S", previous + 4)) + 1;
    }
    if (write)
      text.replace(at, end - at, begin);
    else
      CPPUNIT_ASSERT_EQUAL_MESSAGE("run the unit tests with SLUICE_WRITE_DOCS=1", begin, text.substr(at, end - at));
    previous = at;
  }
  if (write) CPPUNIT_ASSERT(lib::write_file_atomically(path_of(page), text).ok());
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
  CPPUNIT_TEST(the_manual_begins_each_flag_with_its_help);
  CPPUNIT_TEST(the_manual_begins_each_field_with_its_help);
  CPPUNIT_TEST(the_manual_names_no_other_flag);
  CPPUNIT_TEST(every_field_of_the_manual_is_accepted);
  CPPUNIT_TEST(the_operations_guide_lists_every_option);
  CPPUNIT_TEST(the_example_configuration_is_usable);
  CPPUNIT_TEST(the_defaults_of_the_example_configuration_are_right);
  CPPUNIT_TEST_SUITE_END();

 public:
  void the_manual_begins_each_flag_with_its_help() {
    std::vector<Entry> entries;
    for (const Option* flag : flag_table()) {
      const std::string name = with_dashes("--" + std::string(flag->flag));
      entries.push_back({name, heading_of_flag(*flag), summary_of(*flag, default_text(*flag))});
    }
    require_entries("docs/man/sluiced.8", entries);
  }

  void the_manual_begins_each_field_with_its_help() {
    std::vector<Entry> entries;
    for (const Document document : {Document::kube_proxy, Document::sluice}) {
      for (const auto& [name, option] : fields_of(document)) {
        if (option == nullptr) continue;
        // In kube-proxy the default of this field differs from that of the flag.
        const std::string value = name == "ipvs.minSyncPeriod" ? "0s" : default_text(*option);
        const std::string field(name);
        entries.push_back({field, value.empty() ? ".B " + field : ".BR " + field + " \" (" + with_dashes(value) + ")\"",
                           summary_of(*option, "")});
      }
    }
    require_entries("docs/man/sluiced.conf.5", entries);
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

  void the_operations_guide_lists_every_option() {
    std::string table = "| document | field | flag | default | |\n|---|---|---|---|---|\n";
    const auto code = [](const std::string& word) { return word.empty() ? "" : "`" + word + "`"; };
    for (const Option& option : options()) {
      CPPUNIT_ASSERT(!option.help.empty());
      const std::string flag = option.flag.empty() ? "" : "--" + std::string(option.flag);
      const char* document = option.field.empty() ? "" : option.document == Document::sluice ? "second" : "first";
      table += "| " + std::string(document) + " | " + code(std::string(option.field)) + " | " + code(flag) + " | " +
               code(default_text(option)) + " | " + std::string(option.help) + " |\n";
    }
    test::require_generated_part(
        "docs/operations.md", "<!-- made from core/config/options.cpp: SLUICE_WRITE_DOCS=1 unit_tests Documents -->\n",
        table);
  }

  // Fields are the entries: ".B a.b" or ".BR a.b …, c.d …".
  void every_field_of_the_manual_is_accepted() {
    const std::string text = manual("sluiced.conf.5");
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
                        word.starts_with("    counters") || word.starts_with("    queues") ||
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
