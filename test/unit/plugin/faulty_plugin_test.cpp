// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the plugin that other tests use to inject faults.
#include <cppunit/extensions/HelperMacros.h>

#include <fstream>

#include "core/plugin/backend_handle.hpp"
#include "sluice/sdk/sdk.hpp"
#include "test/unit/plugin/zoo_folder.hpp"

namespace sluice::plugin {
namespace faulty_plugin_test {

namespace fs = std::filesystem;
using test::require_contains;
using test::ZooFolder;
using namespace std::chrono_literals;

class FaultyPluginTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(FaultyPluginTest);
  CPPUNIT_TEST(plugin_without_a_fault_works);
  CPPUNIT_TEST(each_step_fails_on_request);
  CPPUNIT_TEST(fault_can_be_limited_to_one_family);
  CPPUNIT_TEST(retire_rolls_back_a_partial_apply);
  CPPUNIT_TEST(retire_keeps_claims_of_the_new_backend);
  CPPUNIT_TEST(retire_drains_until_the_timeout);
  CPPUNIT_TEST(apply_has_the_requested_duration);
  CPPUNIT_TEST(unknown_options_are_rejected);
  CPPUNIT_TEST_SUITE_END();

  using Options = std::vector<std::pair<std::string, std::string>>;
  ZooFolder zoo_;
  const fs::path state_ = zoo_.path().parent_path() / "state";
  const lib::SteadyClock clock_{};

 public:
  void setUp() override { fs::create_directory(state_); }

 private:
  lib::Result<std::unique_ptr<BackendHandle>> try_make(const Options& options, lib::Family family = lib::Family::ipv4,
                                                       bool old_backend = false) {
    zoo_.add("faulty");
    auto plugin = load_plugin(zoo_.request("faulty"));
    CPPUNIT_ASSERT_EQUAL(std::string(), plugin.status().message());
    BackendSettings settings;
    settings.family = family;
    settings.options = options;
    settings.state_dir = state_.string();
    settings.predecessor_serves = old_backend;
    return BackendHandle::create(std::move(*plugin), settings, nullptr, nullptr, clock_);
  }
  std::unique_ptr<BackendHandle> make(const Options& options, lib::Family family = lib::Family::ipv4) {
    auto made = try_make(options, family);
    CPPUNIT_ASSERT_EQUAL(std::string(), made.status().message());
    return std::move(*made);
  }
  static ApplyOutcome apply(BackendHandle& backend) {
    abi::NodeFacts node{};
    node.struct_size = sizeof(node);
    abi::ServicePort port{};
    port.key = {sdk::view("shop"), sdk::view("cart"), sdk::view("http"), abi::Protocol::kTcp, {}};
    abi::Transaction full{};
    full.struct_size = sizeof(full);
    full.generation = 1;
    full.node = &node;
    full.service_ports = sdk::array(&port, 1);
    return backend.apply(full);
  }
  std::string content(const std::string& name) const {
    std::ifstream in(state_ / name);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  void plugin_without_a_fault_works() {
    auto made = try_make({}, lib::Family::ipv6, true);
    BackendHandle& backend = **made;
    CPPUNIT_ASSERT(backend.probe().ok() && apply(backend).ok() && backend.verify().ok());
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http/tcp 0\n"), content("programmed-ipv6"));
    std::ofstream(state_ / "programmed-ipv6") << "other content";
    CPPUNIT_ASSERT(backend.verify().code == abi::Code::kNeedFull);
    CPPUNIT_ASSERT((backend.claims().claims == std::vector<std::string>{"zoo/faulty-ipv6"}));
    CPPUNIT_ASSERT(backend.export_clients().ok() && backend.import_clients({}).ok());
    CPPUNIT_ASSERT(backend.retire({}, 3s).ok());
    CPPUNIT_ASSERT(!fs::exists(state_ / "programmed-ipv6"));
    made->reset();
    CPPUNIT_ASSERT_EQUAL(std::string("ipv6 create old_backend\nipv6 probe\nipv6 apply full 1\nipv6 verify\nipv6 verify\n"
                                     "ipv6 claims\nipv6 export\nipv6 import 0\nipv6 retire 3\nipv6 release\n"),
                         content("calls"));
  }

  void each_step_fails_on_request() {
    require_contains(try_make({{"fault", "create"}}).status().message(), "the requested fault of create");
    CPPUNIT_ASSERT(make({{"fault", "probe"}})->probe().code == abi::Code::kKernel);
    CPPUNIT_ASSERT(apply(*make({{"fault", "apply"}})).code == abi::Code::kKernel);
    CPPUNIT_ASSERT(!fs::exists(state_ / "programmed-ipv4"));
    const auto verified = make({{"fault", "verify"}});
    CPPUNIT_ASSERT(apply(*verified).ok());
    CPPUNIT_ASSERT(verified->verify().code == abi::Code::kNeedFull);
    CPPUNIT_ASSERT(!make({{"fault", "claims"}})->claims().ok());
    const auto retiring = make({{"fault", "retire"}});
    CPPUNIT_ASSERT(!retiring->retire({}, 0s).ok() && !retiring->retire({}, 0s).ok());
    const auto once = make({{"fault", "retire-once"}});
    CPPUNIT_ASSERT(!once->retire({}, 0s).ok() && once->retire({}, 0s).ok());
  }

  void fault_can_be_limited_to_one_family() {
    const Options options{{"fault", "probe"}, {"family", "ipv6"}};
    CPPUNIT_ASSERT(make(options)->probe().ok());
    CPPUNIT_ASSERT(!make(options, lib::Family::ipv6)->probe().ok());
  }

  void retire_rolls_back_a_partial_apply() {
    const auto backend = make({{"fault", "apply-half"}});
    CPPUNIT_ASSERT(!apply(*backend).ok());
    CPPUNIT_ASSERT(fs::exists(state_ / "half-ipv4"));
    CPPUNIT_ASSERT(backend->retire({}, 0s).ok());
    CPPUNIT_ASSERT(!fs::exists(state_ / "half-ipv4"));
    CPPUNIT_ASSERT(!apply(*backend).ok());
    CPPUNIT_ASSERT(backend->cleanup().ok());
    CPPUNIT_ASSERT(!fs::exists(state_ / "half-ipv4"));
  }

  void retire_keeps_claims_of_the_new_backend() {
    const auto backend = make({});
    CPPUNIT_ASSERT(apply(*backend).ok());
    CPPUNIT_ASSERT(backend->retire({"a/b", "zoo/faulty-ipv4"}, 0s).ok());
    CPPUNIT_ASSERT(fs::exists(state_ / "programmed-ipv4"));
  }

  void retire_drains_until_the_timeout() {
    const auto backend = make({{"fault", "drain"}});
    CPPUNIT_ASSERT(apply(*backend).ok());
    CPPUNIT_ASSERT(backend->retire({}, 2s).code == abi::Code::kRetry);
    CPPUNIT_ASSERT(fs::exists(state_ / "programmed-ipv4"));
    CPPUNIT_ASSERT(backend->retire({}, 0s).ok());
    CPPUNIT_ASSERT(!fs::exists(state_ / "programmed-ipv4"));
  }

  void apply_has_the_requested_duration() {
    const auto backend = make({{"fault", "hang-apply"}, {"seconds", "1"}});
    const auto begin = clock_.now();
    CPPUNIT_ASSERT(apply(*backend).ok());
    CPPUNIT_ASSERT(clock_.now() - begin >= 1s);
  }

  void unknown_options_are_rejected() {
    for (const Options& options : {Options{{"fault", "aply"}}, Options{{"colour", "red"}}, Options{{"seconds", "x"}},
                                   Options{{"family", "4"}}}) {
      require_contains(try_make(options).status().message(), "does not know " + options[0].first);
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(FaultyPluginTest);

}  // namespace faulty_plugin_test
}  // namespace sluice::plugin
