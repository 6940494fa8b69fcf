// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which run the events of a loop count for.
#include "core/lifecycle/active_backend.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <memory>
#include <string>

#include "test/unit/lifecycle/run_environment.hpp"
#include "test/unit/observe/metrics_text.hpp"

namespace sluice::lifecycle {
namespace active_backend_test {

class ActiveBackendTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ActiveBackendTest);
  CPPUNIT_TEST(only_syncs_of_the_active_run_are_measured);
  CPPUNIT_TEST(a_call_is_pending_until_the_next_one_of_its_loop);
  CPPUNIT_TEST(a_first_sync_counts_only_in_a_family_that_is_awaited);
  CPPUNIT_TEST_SUITE_END();

  static sync::LoopId loop(RunId run, lib::Family family = lib::Family::ipv4) { return {run, "any", family}; }

  std::shared_ptr<BackendRun> run(RunId id) {
    abi::PluginEntry entry{};
    entry.struct_size = sizeof entry;
    entry.id = entry.version = entry.build = "any";
    BackendRun::Settings settings;
    settings.id = id;
    settings.plugin = std::make_shared<const plugin::Plugin>(nullptr, "/nowhere.so", entry);
    return environment_.make(std::move(settings));
  }
  std::string measured() const {
    const auto samples = test::samples(metrics_.text());
    const auto found = samples.find("kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family=\"IPv4\"}");
    return found == samples.end() ? "0" : found->second;
  }
  std::string starting() const {
    std::string out;
    for (const auto& one : active_.starting()) {
      out +=
          std::to_string(one.loop.run) + " " + std::string(lib::family_name(one.loop.family)) + " " + one.call + ", ";
    }
    return out;
  }

  void only_syncs_of_the_active_run_are_measured() {
    const sync::SyncReport report;
    active_.synced({loop(1), report});
    CPPUNIT_ASSERT_EQUAL(std::string("0"), measured());
    active_.make_active(run(1));
    active_.synced({loop(1), report});
    active_.synced({loop(2), report});
    CPPUNIT_ASSERT_EQUAL(std::string("1"), measured());
    active_.make_active(run(2));
    active_.synced({loop(1), report});
    CPPUNIT_ASSERT_EQUAL(std::string("1"), measured());
    active_.synced({loop(2), report});
    CPPUNIT_ASSERT_EQUAL(std::string("2"), measured());
  }

  void a_call_is_pending_until_the_next_one_of_its_loop() {
    active_.call_started({loop(1), "create"});
    active_.call_started({loop(1, lib::Family::ipv6), "create"});
    CPPUNIT_ASSERT_EQUAL(std::string("1 IPv4 create, 1 IPv6 create, "), starting());
    active_.call_started({loop(1), "probe"});
    CPPUNIT_ASSERT_EQUAL(std::string("1 IPv6 create, 1 IPv4 probe, "), starting());
    active_.call_started({loop(2), {}});
    active_.call_started({loop(1), {}});
    CPPUNIT_ASSERT_EQUAL(std::string("1 IPv6 create, "), starting());
  }

  void a_first_sync_counts_only_in_a_family_that_is_awaited() {
    active_.make_active(run(1));
    active_.claimed({loop(1), {}});
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), active_.first_syncs().size());
  }

  const lib::SteadyClock clock_{};
  RunEnvironment environment_{clock_};
  observe::Metrics metrics_;
  kube::EventRecorder events_{{}, clock_};
  observe::ServiceHealthServer service_health_{[] { return true; }};
  observe::StartTrace start_trace_{clock_, clock_.now(), {}};
  ActiveBackend active_{{metrics_, start_trace_, events_, service_health_, clock_, "N", "/nowhere"}};
};

CPPUNIT_TEST_SUITE_REGISTRATION(ActiveBackendTest);

}  // namespace active_backend_test
}  // namespace sluice::lifecycle
