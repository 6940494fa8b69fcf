// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "config.h"

#include "core/plugin/loader.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <dlfcn.h>

#include <cstdlib>
#include <stdlib.h>

#include <future>
#include <thread>

#include "core/plugin/backend_handle.hpp"
#include "lib/sha256.hpp"
#include "sluice/sdk/views.hpp"
#include "test/unit/plugin/zoo_folder.hpp"

namespace sluice::plugin {
namespace loader_test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using lib::Status;
using lib::StatusCode;
using test::is_mapped;
using test::require_contains;
using test::ZooFolder;

class LoaderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LoaderTest);
  CPPUNIT_TEST(good_plugin_has_id_version_and_build);
  CPPUNIT_TEST(plugin_loads_and_unloads_twice);
  CPPUNIT_TEST(newer_minor_and_longer_descriptor_are_accepted);
  CPPUNIT_TEST(code_of_a_file_without_the_section_never_runs);
  CPPUNIT_TEST(location_is_checked_before_content);
  CPPUNIT_TEST(descriptor_that_is_not_exported_is_rejected);
  CPPUNIT_TEST(unresolved_symbol_is_named_without_unrelated_errno);
  CPPUNIT_TEST(wrong_magic_is_rejected);
  CPPUNIT_TEST(short_descriptor_is_rejected);
  CPPUNIT_TEST(other_major_is_rejected);
  CPPUNIT_TEST(code_of_a_newer_major_does_not_run);
  CPPUNIT_TEST(null_field_is_rejected);
  CPPUNIT_TEST(invalid_annotation_prefix_is_rejected);
  CPPUNIT_TEST(id_other_than_the_configured_one_is_rejected);
  CPPUNIT_TEST(unknown_host_feature_is_rejected);
  CPPUNIT_TEST(invalid_option_table_is_rejected);
  CPPUNIT_TEST(declared_options_outlive_the_library);
  CPPUNIT_TEST(invalid_metric_is_rejected);
  CPPUNIT_TEST(declared_metrics_are_copied);
  CPPUNIT_TEST(rejected_plugin_is_unmapped);
  CPPUNIT_TEST(plugin_has_the_hash_of_its_file);
  CPPUNIT_TEST(two_versions_of_one_path_are_two_libraries);
  CPPUNIT_TEST(overwriting_the_file_keeps_the_copy);
  CPPUNIT_TEST(unload_unmaps_the_library);
  CPPUNIT_TEST(unload_of_a_used_plugin_times_out);
  CPPUNIT_TEST(pinned_library_is_reported);
  CPPUNIT_TEST(thread_local_destructor_keeps_the_library);
  CPPUNIT_TEST_SUITE_END();

  // The error of the zoo plugin `name`, whose message begins with the file.
  static Status refusal(const std::string& name) {
    const ZooFolder folder;
    folder.add(name);
    const Status status = load_plugin(folder.request(name)).status();
    CPPUNIT_ASSERT_MESSAGE(name + " was accepted", !status.ok());
    require_contains(status.message(), "plugin " + (folder.path() / name).string() + ".so: ");
    return status;
  }

  void good_plugin_has_id_version_and_build() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    const auto plugin = load_plugin(folder.request("good"));
    CPPUNIT_ASSERT_EQUAL(std::string(), plugin.status().message());
    CPPUNIT_ASSERT_EQUAL(std::string("good"), plugin.value()->id());
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3"), plugin.value()->version());
    CPPUNIT_ASSERT_EQUAL(file, plugin.value()->file());
    CPPUNIT_ASSERT(plugin.value()->has(abi::kFeatureDelta));
    CPPUNIT_ASSERT(!plugin.value()->build().empty());
  }

  void plugin_loads_and_unloads_twice() {
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

  void newer_minor_and_longer_descriptor_are_accepted() {
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

  void descriptor_that_is_not_exported_is_rejected() {
    require_contains(refusal("no_symbol").message(), "symbol check: it does not export sluice_plugin_entry; link it");
  }

  void unresolved_symbol_is_named_without_unrelated_errno() {
    const Status status = refusal("unresolved_symbol");
    require_contains(status.message(), "load check: undefined symbol: sluice_zoo_is_defined_nowhere; link the plugin");
    CPPUNIT_ASSERT(status.message().find("Bad file descriptor") == std::string::npos);
  }

  void invalid_annotation_prefix_is_rejected() {
    require_contains(refusal("bad_prefix").message(), "descriptor check: annotation prefix 'weight' is not a domain");
  }

  void wrong_magic_is_rejected() {
    require_contains(refusal("wrong_magic").message(),
                     "magic check: sluice_plugin_entry starts with 0x21534f4e instead of 0x30434c53");
  }

  void short_descriptor_is_rejected() {
    require_contains(refusal("short_descriptor").message(), "size check: its descriptor has 48 bytes, at least 64");
  }

  void invalid_option_table_is_rejected() {
    require_contains(refusal("bad_options").message(),
                     "options check: option 'threads': its default: '65' is not a valid value; allowed: a number of threads "
                     "from 1 to 64");
  }

  void declared_options_outlive_the_library() {
    const ZooFolder folder;
    const fs::path file = folder.add("options");
    auto plugin = load_plugin(folder.request("options"));
    CPPUNIT_ASSERT_EQUAL(std::string(), plugin.status().message());
    const auto declared = plugin.value()->options();
    plugin.value().reset();
    CPPUNIT_ASSERT(!is_mapped(file));
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, declared->specs().size());
    CPPUNIT_ASSERT_EQUAL(std::string("threads"), std::string(sdk::text(declared->specs()[5].key)));
    folder.add("good");
    CPPUNIT_ASSERT(load_plugin(folder.request("good")).value()->options() == nullptr);
  }

  void other_major_is_rejected() {
    const Status status = refusal("other_major");
    CPPUNIT_ASSERT(status.code() == StatusCode::unsupported);
    require_contains(status.message(), "version check: it is built for ABI major " + std::to_string(abi::kMajor + 7) +
                                           ", this sluiced (" PACKAGE_VERSION ") speaks " + std::to_string(abi::kMajor) +
                                           "; install a newer sluiced");
  }

  // In a newer major, the size and all fields after it have another meaning.
  void code_of_a_newer_major_does_not_run() {
    const ZooFolder folder;
    const fs::path file = folder.add("newer_major"), mark = folder.path() / "mark";
    setenv("SLUICE_TEST_MARK", mark.c_str(), 1);
    require_contains(load_plugin(folder.request("newer_major")).status().message(),
                     "version check: it is built for ABI major " + std::to_string(abi::kMajor + 1) + ", this sluiced (");
    CPPUNIT_ASSERT(!fs::exists(mark));
    // Mapping the file would run its code.
    void* const mapped = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    CPPUNIT_ASSERT(mapped != nullptr);
    dlclose(mapped);
    unsetenv("SLUICE_TEST_MARK");
    CPPUNIT_ASSERT(fs::exists(mark));
  }

  void null_field_is_rejected() { require_contains(refusal("null_fields").message(), "descriptor check"); }

  void id_other_than_the_configured_one_is_rejected() {
    require_contains(refusal("wrong_id").message(),
                     "id check: it calls itself 'other_id', the configuration asks for 'wrong_id'");
  }

  void unknown_host_feature_is_rejected() {
    require_contains(refusal("needs_host").message(), "needs check: it needs host features 0x10000000000");
  }

  void invalid_metric_is_rejected() {
    require_contains(refusal("bad_metric").message(), "metrics check: metric 'bad_seconds': its buckets do not ascend");
  }

  void declared_metrics_are_copied() {
    const ZooFolder folder;
    folder.add("good");
    auto plugin = load_plugin(folder.request("good"));
    CPPUNIT_ASSERT_EQUAL(std::string(), plugin.status().message());
    const auto metrics = plugin.value()->metrics();
    CPPUNIT_ASSERT_EQUAL(std::string(), unload_plugin(std::move(plugin.value()), 0ms).message());
    const DeclaredMetric& metric = metrics->at("good_probes_total");
    CPPUNIT_ASSERT_EQUAL(std::string("Number of probes."), metric.help);
    CPPUNIT_ASSERT(metric.by_family && metric.labels == std::vector<std::string>{"zoo"});
  }

  void rejected_plugin_is_unmapped() {
    const ZooFolder folder;
    const fs::path file = folder.add("other_major");
    CPPUNIT_ASSERT(!load_plugin(folder.request("other_major")).ok());
    CPPUNIT_ASSERT(!is_mapped(file));
  }

  static LoadRequest with_copy(const ZooFolder& folder, const std::string& id) {
    LoadRequest request = folder.request(id);
    request.copy = true;
    return request;
  }
  static std::shared_ptr<const Plugin> load(const LoadRequest& request) {
    auto plugin = load_plugin(request);
    CPPUNIT_ASSERT_EQUAL(std::string(), plugin.status().message());
    return std::move(*plugin);
  }
  // Replaces the file by rename, as a package manager does.
  static void replace(const ZooFolder& folder, const std::string& by) {
    const fs::path newer = folder.add(by, "newer");
    fs::rename(newer, folder.path() / "good.so");
  }

  void plugin_has_the_hash_of_its_file() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    const std::string sum = lib::file_sha256(file.string()).value();
    CPPUNIT_ASSERT_EQUAL(sum, load(folder.request("good"))->sha256());
    const auto plugin = load(with_copy(folder, "good"));
    CPPUNIT_ASSERT_EQUAL(sum, plugin->sha256());
    replace(folder, "good_newer");
    CPPUNIT_ASSERT(lib::file_sha256(file.string()).value() != plugin->sha256());
  }

  void two_versions_of_one_path_are_two_libraries() {
    const ZooFolder folder;
    folder.add("good");
    // Without a copy the dynamic linker returns the library with the same name.
    const auto plain = load(folder.request("good"));
    const auto first = load(with_copy(folder, "good"));
    replace(folder, "good_newer");
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3"), load(folder.request("good"))->version());
    const auto second = load(with_copy(folder, "good"));
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3"), first->version());
    CPPUNIT_ASSERT_EQUAL(std::string("2.0.0"), second->version());
    CPPUNIT_ASSERT(first->entry().create != second->entry().create);
    // Two copies of one file are different libraries, too.
    CPPUNIT_ASSERT(load(with_copy(folder, "good"))->entry().create != second->entry().create);
  }

  void overwriting_the_file_keeps_the_copy() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    const auto plugin = load(with_copy(folder, "good"));
    CPPUNIT_ASSERT(!is_mapped(file));
    fs::resize_file(file, 0);
    const lib::SteadyClock clock;
    auto backend = BackendHandle::create(plugin, {}, nullptr, nullptr, clock);
    CPPUNIT_ASSERT_EQUAL(std::string(), backend.status().message());
    CPPUNIT_ASSERT((*backend)->probe().ok());
  }

  void unload_unmaps_the_library() {
    const ZooFolder folder;
    const fs::path file = folder.add("good");
    auto plugin = load(with_copy(folder, "good"));
    CPPUNIT_ASSERT(is_mapped("/memfd:good.so"));
    CPPUNIT_ASSERT_EQUAL(std::string(), unload_plugin(std::move(plugin), 0ms).message());
    CPPUNIT_ASSERT(!is_mapped("/memfd:good.so"));
    plugin = load(folder.request("good"));
    CPPUNIT_ASSERT_EQUAL(std::string(), unload_plugin(std::move(plugin), 0ms).message());
    CPPUNIT_ASSERT(!is_mapped(file));
    CPPUNIT_ASSERT(unload_plugin(nullptr, 0ms).ok());
  }

  void unload_of_a_used_plugin_times_out() {
    const ZooFolder folder;
    folder.add("good");
    auto plugin = load(with_copy(folder, "good"));
    const lib::SteadyClock clock;
    auto backend = BackendHandle::create(plugin, {}, nullptr, nullptr, clock);
    const Status status = unload_plugin(plugin, 0ms);
    CPPUNIT_ASSERT(status.code() == StatusCode::unavailable);
    require_contains(
        status.message(),
        "good.so: it stays mapped: a part of the daemon still uses it; it is unmapped when that part ends");
    CPPUNIT_ASSERT((*backend)->probe().ok());
    backend->reset();
    CPPUNIT_ASSERT(unload_plugin(std::move(plugin), 0ms).ok());
  }

  void pinned_library_is_reported() {
    const ZooFolder folder;
    folder.add("stays_nodelete");
    folder.add("stays_unique");
    const Status nodelete = unload_plugin(load(with_copy(folder, "stays_nodelete")), 0ms);
    CPPUNIT_ASSERT(nodelete.code() == StatusCode::unsupported);
    require_contains(nodelete.message(), "stays_nodelete.so: it stays mapped: it is linked with -z nodelete");
    const Status unique = unload_plugin(load(with_copy(folder, "stays_unique")), 0ms);
    CPPUNIT_ASSERT(unique.code() == StatusCode::unsupported);
    require_contains(unique.message(), "stays_unique.so: it stays mapped: it exports symbols");
    require_contains(unique.message(), "STB_GNU_UNIQUE: _ZN");
    CPPUNIT_ASSERT(unique.message().find("nodelete") == std::string::npos);
  }

  void thread_local_destructor_keeps_the_library() {
    const ZooFolder folder;
    folder.add("remembers_thread");
    auto plugin = load(with_copy(folder, "remembers_thread"));
    std::promise<void> used, go_on;
    std::thread thread([&, plugin]() mutable {
      const lib::SteadyClock clock;
      auto backend = BackendHandle::create(std::move(plugin), {}, nullptr, nullptr, clock);
      (*backend)->probe();
      backend->reset();
      used.set_value();
      go_on.get_future().wait();
    });
    used.get_future().wait();
    const Status status = unload_plugin(std::move(plugin), 0ms);
    go_on.set_value();
    thread.join();
    CPPUNIT_ASSERT(status.code() == StatusCode::unsupported);
    require_contains(status.message(), "it stays mapped: a thread that has not ended");
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(LoaderTest);

}  // namespace loader_test
}  // namespace sluice::plugin
