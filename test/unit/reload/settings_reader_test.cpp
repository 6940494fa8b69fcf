// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads a configuration a second time, like a reload.
#include "core/reload/settings_reader.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <filesystem>
#include <memory>

#include "core/config/flags.hpp"
#include "core/reload/settings_diff.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::reload {
namespace settings_reader_test {

constexpr const char* kProxy = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";

class SettingsReaderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SettingsReaderTest);
  CPPUNIT_TEST(equal_files_give_equal_settings);
  CPPUNIT_TEST(reads_the_current_content_of_the_file);
  CPPUNIT_TEST(keeps_the_flags_of_the_process);
  CPPUNIT_TEST(a_half_written_file_is_an_error);
  CPPUNIT_TEST(does_not_report_fields_of_a_document_that_was_not_read);
  CPPUNIT_TEST(auto_mode_keeps_its_choice);
  CPPUNIT_TEST(auto_mode_chooses_again_for_other_plugins_or_after_another_mode);
  CPPUNIT_TEST(keeps_the_node_name);
  CPPUNIT_TEST_SUITE_END();

  std::unique_ptr<test::TemporaryFolder> folder_;
  ReaderEnvironment environment_;
  int choices_ = 0;
  std::string choice_;

 public:
  void setUp() override {
    folder_ = std::make_unique<test::TemporaryFolder>();
    choices_ = 0;
    choice_ = "nftables";
    environment_.defaults.plugin_dirs = {"/plugins"};
    environment_.host_name = "Host";
    environment_.installed_backends = [](const config::PluginSettings&) {
      return std::vector<std::string>{"ipvs", "iptables", "nftables"};
    };
    environment_.recorded_node = [](const std::string& file) {
      return file.ends_with("r") ? "recorded" : std::string();
    };
    environment_.choose_backend = [this](const config::PluginSettings&) {
      ++choices_;
      return lib::Result<config::BackendChoice>(config::BackendChoice{choice_, "mode auto: it works"});
    };
  }
  void tearDown() override { folder_.reset(); }

 private:
  std::vector<std::string> arguments() const { return {"--config", folder_->path("c")}; }
  void write(const std::string& text) const { folder_->write("c", kProxy + text); }

  config::Settings start(const std::vector<std::string>& given) const {
    config::Problems problems;
    const config::Flags flags = config::parse_flags(given, problems);
    const config::Draft draft = config::read_configuration(flags, environment_.defaults, problems);
    config::Settings out = validated(draft, environment_, nullptr, problems);
    CPPUNIT_ASSERT_MESSAGE(problems.has_errors() ? problems.all()[0].to_string() : "", !problems.has_errors());
    return out;
  }
  config::Settings again(const config::Settings& running, const std::vector<std::string>& given) const {
    config::Problems problems;
    config::Settings out = read_settings(given, environment_, running, problems);
    CPPUNIT_ASSERT_MESSAGE(problems.has_errors() ? problems.all()[0].to_string() : "", !problems.has_errors());
    return out;
  }

 public:
  void equal_files_give_equal_settings() {
    write("mode: ipvs\nclusterCIDR: 10.0.0.0/8\n");
    const config::Settings first = start(arguments());
    CPPUNIT_ASSERT(again(first, arguments()) == first);
    write("# another text\nclusterCIDR: 10.0.0.0/8\nmode: ipvs\n");
    CPPUNIT_ASSERT(settings_diff(first, again(first, arguments())).empty());
  }

  void reads_the_current_content_of_the_file() {
    write("mode: ipvs\n");
    const config::Settings first = start(arguments());
    write("mode: nftables\nmetricsBindAddress: 127.0.0.1:1\n");
    const config::Settings second = again(first, arguments());
    CPPUNIT_ASSERT_EQUAL(std::string("nftables"), second.backend);
    const auto changes = settings_diff(first, second);
    CPPUNIT_ASSERT(concerns(changes, SettingsPart::backend) && concerns(changes, SettingsPart::serve));
    CPPUNIT_ASSERT(refusals(changes).empty());
  }

  void keeps_the_flags_of_the_process() {
    folder_->write("c", std::string(kProxy) + "hostnameOverride: other\n");
    auto given = arguments();
    given.insert(given.end(), {"--hostname-override", "mine"});
    const config::Settings first = start(given);
    CPPUNIT_ASSERT_EQUAL(std::string("mine"), first.node_name);
    write("hostnameOverride: third\n");
    CPPUNIT_ASSERT_EQUAL(std::string("mine"), again(first, given).node_name);
  }

  void a_half_written_file_is_an_error() {
    const std::string whole = std::string(kProxy) + "mode: \"nftables\"\nclusterCIDR: 10.0.0.0/8\n";
    write("mode: ipvs\n");
    const config::Settings first = start(arguments());
    folder_->write("c", whole.substr(0, whole.find("nftables\"") + 4));
    config::Problems problems;
    read_settings(arguments(), environment_, first, problems);
    CPPUNIT_ASSERT(problems.has_errors());
    folder_->write("c", "");
    config::Problems empty;
    read_settings(arguments(), environment_, first, empty);
    CPPUNIT_ASSERT(empty.has_errors());
  }

  // Fields in a document that could not be read do not count as missing.
  void does_not_report_fields_of_a_document_that_was_not_read() {
    write("mode: ipvs\n");
    const config::Settings first = start(arguments());
    environment_.installed_backends = [](const config::PluginSettings& plugins) {
      return plugins.folders == std::vector<std::string>{"/mine"} ? std::vector<std::string>{"iptables"}
                                                                  : std::vector<std::string>();
    };
    const std::string mine = "---\napiVersion: sluice.dev/v1alpha1\nkind: SluiceConfiguration\npluginDirs: [/mine]\n";
    for (const std::string& text : {"mode: [\n" + mine, "---\n" + mine.substr(0, mine.size() - 1) + " x\n",
                                    "---\n" + std::string(mine).replace(mine.find("sluice.dev"), 6, "siuice"),
                                    "a: " + std::string(70, '[') + std::string(70, ']') + "\n" + mine}) {
      write(text);
      config::Problems problems;
      read_settings(arguments(), environment_, first, problems);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(text, std::size_t{1}, problems.errors());
    }
    std::filesystem::remove(folder_->path("c"));
    config::Problems away;
    read_settings(arguments(), environment_, first, away);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, away.errors());
    write("clusterCIDR: nonsense\n" + mine);
    config::Problems read;
    read_settings(arguments(), environment_, first, read);
    CPPUNIT_ASSERT(read.all().at(0).where.ends_with("clusterCIDR"));
  }

  void auto_mode_keeps_its_choice() {
    write("mode: auto\n");
    const config::Settings first = start(arguments());
    CPPUNIT_ASSERT_EQUAL(1, choices_);
    choice_ = "iptables";
    write("mode: auto\nclusterCIDR: 10.0.0.0/8\n");
    const config::Settings second = again(first, arguments());
    CPPUNIT_ASSERT_EQUAL(1, choices_);
    CPPUNIT_ASSERT_EQUAL(std::string("nftables"), second.backend);
    CPPUNIT_ASSERT_EQUAL(first.backend_reason, second.backend_reason);
  }

  void auto_mode_chooses_again_for_other_plugins_or_after_another_mode() {
    write("mode: auto\n");
    const config::Settings first = start(arguments());
    choice_ = "iptables";
    write("mode: auto\n---\napiVersion: sluice.dev/v1alpha1\nkind: SluiceConfiguration\npluginDirs: [/others]\n");
    CPPUNIT_ASSERT_EQUAL(std::string("iptables"), again(first, arguments()).backend);
    CPPUNIT_ASSERT_EQUAL(2, choices_);
    write("mode: ipvs\n");
    const config::Settings named = again(first, arguments());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs"), named.backend);
    CPPUNIT_ASSERT_EQUAL(2, choices_);
    write("mode: auto\n");
    CPPUNIT_ASSERT_EQUAL(std::string("iptables"), again(named, arguments()).backend);
    CPPUNIT_ASSERT_EQUAL(3, choices_);
  }

  void keeps_the_node_name() {
    write("mode: ipvs\n");
    const config::Settings first = start(arguments());
    CPPUNIT_ASSERT_EQUAL(std::string("host"), first.node_name);
    CPPUNIT_ASSERT_EQUAL(std::string("recorded"), start({"--replay", "/r"}).node_name);
    CPPUNIT_ASSERT_EQUAL(std::string("host"), start({"--replay", "/x"}).node_name);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SettingsReaderTest);

}  // namespace settings_reader_test
}  // namespace sluice::reload
