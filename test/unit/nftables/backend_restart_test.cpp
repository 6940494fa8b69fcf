// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Restarts with a state directory: the table is not read back if nothing has changed, and checked later.
#include <cppunit/extensions/HelperMacros.h>

#include <filesystem>
#include <string>
#include <vector>

#include "test/unit/nftables/backend_rig.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::test {
namespace backend_restart_test {

using namespace nftables;

class NftablesRestartTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesRestartTest);
  CPPUNIT_TEST(unchanged_table_is_not_read_back);
  CPPUNIT_TEST(saved_listing_has_later_changes);
  CPPUNIT_TEST(missed_changes_are_written);
  CPPUNIT_TEST(changed_table_is_read_back);
  CPPUNIT_TEST(change_after_the_probe_is_found);
  CPPUNIT_TEST(nothing_is_saved_in_doubt);
  CPPUNIT_TEST(later_check_repairs);
  CPPUNIT_TEST(table_is_saved_again_after_the_check);
  CPPUNIT_TEST(cleanup_removes_the_file);
  CPPUNIT_TEST_SUITE_END();

  // A backend with a state directory. Its first process has served `services`.
  struct Rig {
    explicit Rig(std::vector<ServiceSpec> wanted = many_services(5, 3)) : services(std::move(wanted)) {
      rig.state_dir = folder.path();
      rig.restart();
      serve();
    }
    ~Rig() { rig.stop(); }
    void serve() { ok(rig, rig.full(services)); }
    void start() {
      rig.restart();
      ok(rig, rig.probe());
    }
    bool has_file() const { return std::filesystem::exists(folder.path("listing-ipv4")); }
    // Starts and serves. Whether the table was read.
    bool reads() {
      const std::uint64_t before = rig.table.statistics.listings;
      start();
      serve();
      return rig.table.statistics.listings != before;
    }
    void require_check() {
      rig.pass(61);
      ok(rig, rig.verify());
    }

    TemporaryFolder folder;  // outlives the backend
    NftablesRig rig;
    std::vector<ServiceSpec> services;
  };

 public:
  void unchanged_table_is_not_read_back() {
    Rig rig;
    const std::string before = rig.rig.table.text();
    CPPUNIT_ASSERT(!rig.has_file());
    CPPUNIT_ASSERT(!rig.reads());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.rig.result.kernel_writes);
    CPPUNIT_ASSERT_EQUAL(before, rig.rig.table.text());
    CPPUNIT_ASSERT_EQUAL(1.0, rig.rig.metric("sluice_nftables_saved_listings_total"));
    CPPUNIT_ASSERT(rig.rig.logged(abi::Severity::kInfo, "is not read back"));
    CPPUNIT_ASSERT_MESSAGE("a saved listing is used once", !rig.has_file());
  }

  void saved_listing_has_later_changes() {
    Rig rig;
    rig.services[1].endpoints.pop_back();
    ok(rig.rig, rig.rig.delta({rig.services[1]}, {rig.services[4]}));
    rig.services.pop_back();
    rig.services[2].affinity_seconds = 60;
    ok(rig.rig, rig.rig.delta({rig.services[2]}));
    rig.rig.pass(2);
    ok(rig.rig.verify());  // removes unused chains
    CPPUNIT_ASSERT(!rig.reads());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.rig.result.kernel_writes);
  }

  void missed_changes_are_written() {
    Rig rig;
    rig.services[1].endpoints.pop_back();
    CPPUNIT_ASSERT(!rig.reads());
    CPPUNIT_ASSERT(rig.rig.result.kernel_writes != 0);
    NftablesRig fresh;
    ok(fresh, fresh.full(rig.services));
    CPPUNIT_ASSERT(fresh.table.frontends(SetId::kEndpoints) == rig.rig.table.frontends(SetId::kEndpoints));
  }

  void changed_table_is_read_back() {
    for (const bool elsewhere : {false, true}) {
      Rig rig;
      const std::string before = rig.rig.table.text();
      rig.rig.stop();
      CPPUNIT_ASSERT(rig.has_file());
      auto& elements = rig.rig.table.state.elements[SetId::kServiceIps];
      elements.erase(elements.begin());
      if (elsewhere) {
        rig.rig.table.place = "another boot";
      } else {
        ++rig.rig.table.foreign_commits;
      }
      CPPUNIT_ASSERT(rig.reads());
      CPPUNIT_ASSERT_EQUAL(before, rig.rig.table.text());
      CPPUNIT_ASSERT_EQUAL(0.0, rig.rig.metric("sluice_nftables_saved_listings_total"));
    }
  }

  void change_after_the_probe_is_found() {
    Rig rig;
    const std::string before = rig.rig.table.text();
    rig.start();
    CPPUNIT_ASSERT(rig.has_file());
    rig.rig.table.on_rearm = [&] {
      rig.rig.table.state.elements[SetId::kEndpoints].clear();
      ++rig.rig.table.foreign_commits;
    };
    rig.serve();
    rig.rig.table.on_rearm = nullptr;
    CPPUNIT_ASSERT_EQUAL(before, rig.rig.table.text());
  }

  void nothing_is_saved_in_doubt() {
    const auto saved = [](const auto& trouble) {
      Rig rig;
      trouble(rig);
      rig.rig.stop();
      return rig.has_file();
    };
    CPPUNIT_ASSERT(saved([](Rig&) {}));
    CPPUNIT_ASSERT_MESSAGE("a change was reported", !saved([](Rig& rig) { rig.rig.table.report_change("changed"); }));
    CPPUNIT_ASSERT_MESSAGE("no namespace number", !saved([](Rig& rig) { rig.rig.table.place.clear(); }));
    CPPUNIT_ASSERT_MESSAGE("a write failed", !saved([](Rig& rig) {
                             rig.rig.table.fail_next = sdk::Failure(abi::Code::kRetry, "table", "lost");
                             rig.services[0].endpoints.pop_back();
                             rig.rig.delta({rig.services[0]});
                           }));
    CPPUNIT_ASSERT_MESSAGE("retired", !saved([](Rig& rig) { rig.rig.retire({}, 30); }));
    CPPUNIT_ASSERT_MESSAGE("another backend continues", !saved([](Rig& rig) { rig.rig.retire(rig.rig.claims()); }));
    CPPUNIT_ASSERT_MESSAGE("nothing applied", !saved([](Rig& rig) {
                             rig.rig.table.place.clear();
                             rig.rig.restart();
                             rig.rig.table.place = "here";
                           }));
    // An earlier process left a chain that no Service uses any more.
    CPPUNIT_ASSERT_MESSAGE("leftover chains", !saved([](Rig& rig) {
                             rig.rig.table.place.clear();
                             for (ServiceSpec& service : rig.services) service.endpoints.pop_back();
                             rig.start();
                             rig.serve();
                             rig.rig.table.place = "here";
                           }));
  }

  void later_check_repairs() {
    Rig rig;
    const std::string before = rig.rig.table.text();
    rig.rig.stop();
    // Without another generation: the saved listing is wrong.
    auto& elements = rig.rig.table.state.elements[SetId::kEndpoints];
    elements.erase(elements.begin());
    CPPUNIT_ASSERT(!rig.reads());
    CPPUNIT_ASSERT(before != rig.rig.table.text());
    ok(rig.rig, rig.rig.verify());
    rig.require_check();
    CPPUNIT_ASSERT(rig.rig.verify() == abi::Code::kNeedFull);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.rig.host.resyncs.size());
    CPPUNIT_ASSERT_EQUAL(std::string("the table differs from the listing that an earlier process saved: the elements of "
                                     "endpoints differ"),
                         rig.rig.host.resyncs[0]);
    rig.serve();
    CPPUNIT_ASSERT_EQUAL(before, rig.rig.table.text());
  }

  void table_is_saved_again_after_the_check() {
    Rig rig;
    CPPUNIT_ASSERT(!rig.reads());
    CPPUNIT_ASSERT_MESSAGE("the saved listing was not checked", rig.reads());
    CPPUNIT_ASSERT(!rig.reads());
    rig.require_check();
    ok(rig.rig, rig.rig.verify());  // waits for the check
    const std::uint64_t before = rig.rig.table.statistics.listings;
    CPPUNIT_ASSERT(rig.rig.host.resyncs.empty());
    rig.rig.pass(3600);
    ok(rig.rig, rig.rig.verify());
    ok(rig.rig, rig.rig.verify());
    CPPUNIT_ASSERT_EQUAL_MESSAGE("one check", before, rig.rig.table.statistics.listings);
    CPPUNIT_ASSERT(!rig.reads());
    // A delta while the check runs.
    rig.require_check();
    rig.services[0].endpoints.pop_back();
    ok(rig.rig, rig.rig.delta({rig.services[0]}));
    CPPUNIT_ASSERT(!rig.reads());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.rig.result.kernel_writes);
  }

  void cleanup_removes_the_file() {
    Rig rig;
    rig.rig.restart();
    CPPUNIT_ASSERT(rig.has_file());
    ok(rig.rig, rig.rig.cleanup());
    CPPUNIT_ASSERT(!rig.has_file());
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(NftablesRestartTest);

}  // namespace backend_restart_test
}  // namespace sluice::test
