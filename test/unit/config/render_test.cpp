// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The effective configuration as text: its format, and that it can be read back.
#include "core/config/render.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/config/validate.hpp"
#include "test/unit/config/option_table.hpp"
#include "test/unit/config/problem_text.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::config {
namespace render_test {

struct Read {
  Draft draft;
  Settings settings;
};

Read read_words(const std::vector<std::string>& words) {
  Problems problems;
  const Flags flags = parse_flags(words, problems);
  Read out{read_configuration(flags, {{"/lib/plugins"}, "/run/sluice"}, problems), {}};
  out.settings = validate(out.draft, {{"iptables", "ipvs", "nftables", "userspace"}, "host-1"}, problems);
  CPPUNIT_ASSERT_MESSAGE(test::problem_text(problems), !problems.has_errors());
  return out;
}

class RenderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RenderTest);
  CPPUNIT_TEST(the_json_has_the_format_of_kube_proxy);
  CPPUNIT_TEST(every_option_can_be_read_back);
  CPPUNIT_TEST(special_texts_can_be_read_back);
  CPPUNIT_TEST(writes_the_second_document_if_it_has_fields);
  CPPUNIT_TEST(warns_about_values_that_no_field_can_express);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder folder_;

  void require_same(const std::vector<std::string>& words) {
    Read first = read_words(words);
    const std::string text = configuration_yaml(first.draft, first.settings);
    Read again = read_words({"--check", "--config=" + folder_.write("written.yaml", text)});
    for (Settings* settings : {&first.settings, &again.settings}) {
      settings->flags.clear();
      settings->config_file.clear();
      settings->option_places.clear();
    }
    CPPUNIT_ASSERT_EQUAL(first.settings.kube_proxy_configuration, again.settings.kube_proxy_configuration);
    CPPUNIT_ASSERT_MESSAGE(words.empty() ? text : words.back() + "\n" + text, first.settings == again.settings);
    CPPUNIT_ASSERT_EQUAL(text, configuration_yaml(again.draft, again.settings));
  }

 public:
  void the_json_has_the_format_of_kube_proxy() {
    const Read read = read_words({});
    CPPUNIT_ASSERT_EQUAL(test::default_configuration(), read.settings.kube_proxy_configuration);
  }

  void every_option_can_be_read_back() {
    require_same({});
    for (const test::Option& option : test::option_table()) {
      if (option.other.empty()) continue;
      if (!option.flag.empty() && option.flag != "boot-id-file" && option.flag != "machine-id-file") {
        std::vector<std::string> words = option.flags_besides;
        words.push_back("--" + option.flag + "=" + option.other);
        require_same(words);
      }
    }
    // All compatible flags at once.
    std::vector<std::string> words{"--proxy-mode=ipvs"};
    for (const test::Option& option : test::option_table()) {
      const bool apart = option.flag == "replay" || option.flag == "replay-speed" || option.flag == "record" ||
                         option.flag == "manifests" || option.flag == "proxy-mode" || option.flag == "logging-format" ||
                         option.flag.ends_with("-id-file") || option.flag == "detect-local-mode";
      if (!apart && !option.flag.empty() && !option.other.empty()) {
        words.push_back("--" + option.flag + "=" + option.other);
      }
    }
    CPPUNIT_ASSERT(words.size() > 50);
    require_same(words);
  }

  void special_texts_can_be_read_back() {
    for (const std::string text : {"true", "null", "~", "1e3", "0x10", "a: b", "# c", "- d", "{e}", "'", "\"", "\\",
                                   "a\nb", "\xc3\xa9", "*x", "30s", " blanks "}) {
      require_same({"--kubeconfig=" + text, "--ipvs-scheduler=" + text, "--master=" + text});
    }
  }

  void writes_the_second_document_if_it_has_fields() {
    const Read plain = read_words({});
    CPPUNIT_ASSERT_EQUAL(std::string::npos, configuration_yaml(plain.draft, plain.settings).find("---"));
    const std::string file = folder_.write(
        "both.yaml",
        "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: nftables\n---\n"
        "apiVersion: sluice.dev/v1alpha1\nkind: SluiceConfiguration\nbackend: iptables\nmaster: http://m\n"
        "pluginDirs: [/a, /b]\nrelaxPluginOwnership: true\nudpTimeout: 3s\nstateDir: /s\n"
        "backends: {iptables: {a: [1, two, {b: 'true'}]}, com.example: ~, more: {}}\n");
    require_same({"--config=" + file});
  }

  void warns_about_values_that_no_field_can_express() {
    const auto warnings = [](const std::vector<std::string>& words) {
      const Read read = read_words(words);
      Problems problems;
      warn_not_written(read.draft, read.settings, problems);
      return test::problem_text(problems);
    };
    CPPUNIT_ASSERT_EQUAL(std::string(), warnings({}));
    CPPUNIT_ASSERT_EQUAL(
        std::string("W --healthz-port: 0 is not in the written file: no field turns the health server off\n"),
        warnings({"--healthz-port=0"}));
    const std::string least = "-min-sync-period: 0 means the default, adaptive, in the written file; write 1ms there\n";
    CPPUNIT_ASSERT_EQUAL("W --iptables" + least, warnings({"--iptables-min-sync-period=0s"}));
    CPPUNIT_ASSERT_EQUAL("W --iptables" + least, warnings({"--iptables-min-sync-period=0s", "--proxy-mode=nftables"}));
    CPPUNIT_ASSERT_EQUAL("W --ipvs" + least, warnings({"--ipvs-min-sync-period=0s", "--proxy-mode=ipvs"}));
    CPPUNIT_ASSERT_EQUAL(std::string(), warnings({"--iptables-min-sync-period=1ms"}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RenderTest);

}  // namespace render_test
}  // namespace sluice::config
