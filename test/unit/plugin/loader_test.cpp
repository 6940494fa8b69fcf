// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/loader.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <stdlib.h>

#include "test/unit/plugin/zoo_folder.hpp"

namespace sluice::plugin {
namespace {

namespace fs = std::filesystem;
using base::Status;
using base::StatusCode;
using test::is_mapped;
using test::require_contains;
using test::ZooFolder;

class LoaderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LoaderTest);
  CPPUNIT_TEST(good_plugin_tells_who_it_is);
  CPPUNIT_TEST(plugin_loads_and_unloads_twice_and_leaves_no_map);
  CPPUNIT_TEST(minor_version_and_descriptor_from_the_future_load);
  CPPUNIT_TEST(code_of_a_file_without_the_section_never_runs);
  CPPUNIT_TEST(location_is_checked_before_content);
  CPPUNIT_TEST(descriptor_that_is_not_exported_is_refused);
  CPPUNIT_TEST(unresolved_symbol_is_named_without_foreign_errno);
  CPPUNIT_TEST(wrong_magic_is_refused);
  CPPUNIT_TEST(short_descriptor_is_refused);
  CPPUNIT_TEST(other_major_is_refused);
  CPPUNIT_TEST(null_field_is_refused);
  CPPUNIT_TEST(id_that_differs_from_the_configured_one_is_refused);
  CPPUNIT_TEST(unknown_host_feature_is_refused);
  CPPUNIT_TEST(feature_the_configuration_needs_is_named);
  CPPUNIT_TEST(refused_plugin_does_not_stay_mapped);
  CPPUNIT_TEST(features_have_names);
  CPPUNIT_TEST_SUITE_END();

  // The refusal of the zoo plugin `name`; its sentence starts with the file.
  static Status refusal(const std::string& name) {
    const ZooFolder folder;
    folder.add(name);
    const Status status = load_plugin(folder.request(name)).status();
    CPPUNIT_ASSERT_MESSAGE(name + " was accepted", !status.ok());
    require_contains(status.message(), "plugin " + (folder.path() / name).string() + ".so: ");
    return status;
  }

  void good_plugin_tells_who_it_is() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    const auto plugin = load_plugin(folder.request("good"));
    CPPUNIT_ASSERT_EQUAL(std::string(), plugin.status().message());
    CPPUNIT_ASSERT_EQUAL(std::string("good"), plugin.value()->id());
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3"), plugin.value()->version());
    CPPUNIT_ASSERT_EQUAL(file, plugin.value()->file());
    CPPUNIT_ASSERT(plugin.value()->has(abi::kFeatureSctp));
    CPPUNIT_ASSERT(!plugin.value()->build().empty());
  }

  void plugin_loads_and_unloads_twice_and_leaves_no_map() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    for (int round = 0; round < 2; ++round) {
      auto plugin = load_plugin(folder.request("good"));
      CPPUNIT_ASSERT_EQUAL(std::string(), plugin.status().message());
      CPPUNIT_ASSERT(is_mapped(file));
      plugin.value().reset();
      CPPUNIT_ASSERT(!is_mapped(file));
    }
  }

  void minor_version_and_descriptor_from_the_future_load() {
    const ZooFolder folder;
    folder.add("other_minor");
    CPPUNIT_ASSERT_EQUAL(std::string(), load_plugin(folder.request("other_minor")).status().message());
  }

  void code_of_a_file_without_the_section_never_runs() {
    unsetenv("SLUICE_ZOO_RAN");
    require_contains(refusal("no_section").message(), "section check");
    CPPUNIT_ASSERT(getenv("SLUICE_ZOO_RAN") == nullptr);
  }

  void location_is_checked_before_content() {
    const ZooFolder folder;
    const fs::path file = folder.write("good.so", "text");
    fs::permissions(file, fs::perms(0666));
    require_contains(load_plugin(folder.request("good")).status().message(), "permission check");
  }

  void descriptor_that_is_not_exported_is_refused() {
    require_contains(refusal("no_symbol").message(), "symbol check: it does not export sluice_plugin_entry; link it");
  }

  void unresolved_symbol_is_named_without_foreign_errno() {
    const Status status = refusal("unresolved_symbol");
    require_contains(status.message(), "load check: undefined symbol: sluice_zoo_is_defined_nowhere; link the plugin");
    CPPUNIT_ASSERT(status.message().find("Bad file descriptor") == std::string::npos);
  }

  void wrong_magic_is_refused() {
    require_contains(refusal("wrong_magic").message(),
                     "magic check: sluice_plugin_entry starts with 0x21534f4e instead of 0x30434c53");
  }

  void short_descriptor_is_refused() {
    require_contains(refusal("short_descriptor").message(), "size check: its descriptor has 48 bytes, at least 64");
  }

  void other_major_is_refused() {
    const Status status = refusal("other_major");
    CPPUNIT_ASSERT(status.code() == StatusCode::unsupported);
    require_contains(status.message(), "version check: it is built for ABI major " + std::to_string(abi::kMajor + 7) +
                                           ", this daemon speaks " + std::to_string(abi::kMajor));
  }

  void null_field_is_refused() { require_contains(refusal("null_fields").message(), "descriptor check"); }

  void id_that_differs_from_the_configured_one_is_refused() {
    require_contains(refusal("wrong_id").message(),
                     "id check: it calls itself 'somebody_else', the configuration asks for 'wrong_id'");
  }

  void unknown_host_feature_is_refused() {
    require_contains(refusal("needs_host").message(), "needs check: it needs host features 0x10000000000");
  }

  void feature_the_configuration_needs_is_named() {
    const ZooFolder folder;
    folder.add("ipv4_only");
    LoadRequest request = folder.request("ipv4_only");
    request.needed_features = abi::kFeatureIpv4 | abi::kFeatureIpv6 | abi::kFeatureSctp;
    require_contains(load_plugin(request).status().message(),
                     "feature check: the configuration needs ipv6, sctp, which backend 'ipv4_only' does not offer");
    request.needed_features = abi::kFeatureIpv4;
    CPPUNIT_ASSERT(load_plugin(request).ok());
  }

  void refused_plugin_does_not_stay_mapped() {
    const ZooFolder folder;
    const fs::path file = folder.add("other_major");
    CPPUNIT_ASSERT(!load_plugin(folder.request("other_major")).ok());
    CPPUNIT_ASSERT(!is_mapped(file));
  }

  void features_have_names() {
    CPPUNIT_ASSERT_EQUAL(std::string("ipv4, drain, 0x8000000000000000"),
                         feature_names(abi::kFeatureIpv4 | abi::kFeatureDrain | 1ull << 63));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(LoaderTest);

}  // namespace
}  // namespace sluice::plugin
