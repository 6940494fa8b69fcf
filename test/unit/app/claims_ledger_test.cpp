// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/claims_ledger.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "test/unit/app/temporary_folder.hpp"

namespace sluice::app {
namespace {

using base::Family;

const ClaimsLedger::Owner kIptables4{"iptables", Family::ipv4};
const ClaimsLedger::Owner kIptables6{"iptables", Family::ipv6};
const ClaimsLedger::Owner kIpvs4{"ipvs", Family::ipv4};

class ClaimsLedgerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ClaimsLedgerTest);
  CPPUNIT_TEST(a_missing_file_is_an_empty_ledger);
  CPPUNIT_TEST(what_is_set_is_read_back_by_the_next_process);
  CPPUNIT_TEST(artifacts_are_sorted_and_single);
  CPPUNIT_TEST(an_empty_list_removes_the_owner);
  CPPUNIT_TEST(only_a_change_is_written);
  CPPUNIT_TEST(a_damaged_file_is_told_and_built_anew);
  CPPUNIT_TEST(every_kind_of_damage_is_survived);
  CPPUNIT_TEST(sound_entries_of_a_damaged_file_are_kept);
  CPPUNIT_TEST(a_damaged_file_is_rewritten_even_without_a_change);
  CPPUNIT_TEST(an_unreadable_place_is_an_error);
  CPPUNIT_TEST_SUITE_END();

  std::optional<test::TemporaryFolder> folder_;
  std::string file() const { return folder_->path("claims.json"); }

 public:
  void setUp() override { folder_.emplace(); }
  void tearDown() override { folder_.reset(); }

  void a_missing_file_is_an_empty_ledger() {
    ClaimsLedger ledger(file());
    CPPUNIT_ASSERT(ledger.load().ok());
    CPPUNIT_ASSERT(ledger.all().empty());
  }

  void what_is_set_is_read_back_by_the_next_process() {
    ClaimsLedger first(file());
    CPPUNIT_ASSERT(first.load().ok());
    CPPUNIT_ASSERT(first.set(kIptables4, {"iptables/nat/KUBE-SERVICES", "iptables/filter/KUBE-FORWARD"}).ok());
    CPPUNIT_ASSERT(first.set(kIptables6, {"ip6tables/nat/KUBE-SERVICES"}).ok());
    CPPUNIT_ASSERT(first.set(kIpvs4, {"link/kube-ipvs0", "ipset/KUBE-*"}).ok());
    ClaimsLedger second(file());
    CPPUNIT_ASSERT(second.load().ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, second.all().size());
    CPPUNIT_ASSERT(second.all() == first.all());
  }

  void artifacts_are_sorted_and_single() {
    ClaimsLedger ledger(file());
    CPPUNIT_ASSERT(ledger.set(kIpvs4, {"b", "a", "b"}).ok());
    CPPUNIT_ASSERT((ledger.all().at(kIpvs4) == ClaimsLedger::Artifacts{"a", "b"}));
  }

  void an_empty_list_removes_the_owner() {
    ClaimsLedger ledger(file());
    CPPUNIT_ASSERT(ledger.set(kIpvs4, {"a"}).ok());
    CPPUNIT_ASSERT(ledger.set(kIpvs4, {}).ok());
    CPPUNIT_ASSERT(ledger.all().empty());
    ClaimsLedger second(file());
    CPPUNIT_ASSERT(second.load().ok());
    CPPUNIT_ASSERT(second.all().empty());
  }

  void only_a_change_is_written() {
    ClaimsLedger ledger(file());
    CPPUNIT_ASSERT(ledger.set(kIpvs4, {"a", "b"}).ok());
    std::filesystem::remove(file());
    CPPUNIT_ASSERT(ledger.set(kIpvs4, {"b", "a"}).ok());
    CPPUNIT_ASSERT(ledger.set(kIptables4, {}).ok());
    CPPUNIT_ASSERT(!std::filesystem::exists(file()));
    CPPUNIT_ASSERT(ledger.set(kIpvs4, {"a"}).ok());
    CPPUNIT_ASSERT(std::filesystem::exists(file()));
  }

  void a_damaged_file_is_told_and_built_anew() {
    folder_->write("claims.json", "{\"format\":1,\"claims\":[{\"back");
    ClaimsLedger ledger(file());
    CPPUNIT_ASSERT_EQUAL(file() + " is damaged; it is built anew", ledger.load().message());
    CPPUNIT_ASSERT(ledger.set(kIpvs4, {"a"}).ok());
    ClaimsLedger second(file());
    CPPUNIT_ASSERT(second.load().ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, second.all().size());
  }

  void every_kind_of_damage_is_survived() {
    const std::string good = R"({"format":1,"claims":[{"backend":"ipvs","family":"IPv4","artifacts":["a"]}]})";
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
      folder_->write("claims.json", good.substr(0, cut));
      ClaimsLedger ledger(file());
      CPPUNIT_ASSERT_MESSAGE(std::to_string(cut), !ledger.load().ok());
    }
    for (const char* bad : {"[]", "null", "1", "{}", "{\"claims\":{}}", "\x01\x02", "{\"claims\":[7]}",
                            R"({"claims":[{"backend":7,"family":"IPv4","artifacts":[]}]})",
                            R"({"claims":[{"backend":"","family":"IPv4","artifacts":[]}]})",
                            R"({"claims":[{"backend":"x","family":"IPv5","artifacts":[]}]})",
                            R"({"claims":[{"backend":"x","family":"IPv4","artifacts":"a"}]})",
                            R"({"claims":[{"backend":"x","family":"IPv4","artifacts":["a",""]}]})",
                            R"({"claims":[{"backend":"x","family":"IPv4","artifacts":["a",{}]}]})"}) {
      folder_->write("claims.json", bad);
      ClaimsLedger ledger(file());
      CPPUNIT_ASSERT_MESSAGE(bad, !ledger.load().ok());
      CPPUNIT_ASSERT_MESSAGE(bad, ledger.all().empty());
    }
  }

  void sound_entries_of_a_damaged_file_are_kept() {
    folder_->write("claims.json",
                   R"({"claims":[{"backend":"x"},{"backend":"ipvs","family":"IPv4","artifacts":["b","a"],"new":1}]})");
    ClaimsLedger ledger(file());
    CPPUNIT_ASSERT_EQUAL(file() + " is damaged: 1 of 2 entries are unreadable and built anew", ledger.load().message());
    CPPUNIT_ASSERT((ledger.all().at(kIpvs4) == ClaimsLedger::Artifacts{"a", "b"}));
  }

  void a_damaged_file_is_rewritten_even_without_a_change() {
    folder_->write("claims.json", R"({"claims":[7,{"backend":"ipvs","family":"IPv4","artifacts":["a"]}]})");
    ClaimsLedger ledger(file());
    CPPUNIT_ASSERT(!ledger.load().ok());
    CPPUNIT_ASSERT(ledger.set(kIpvs4, {"a"}).ok());
    CPPUNIT_ASSERT(ClaimsLedger(file()).load().ok());
  }

  void an_unreadable_place_is_an_error() {
    ClaimsLedger ledger(folder_->path("no/such/claims.json"));
    CPPUNIT_ASSERT(ledger.load().ok());
    CPPUNIT_ASSERT(!ledger.set(kIpvs4, {"a"}).ok());
    // What could not be written is written by the next call, even an equal one.
    std::filesystem::create_directories(folder_->path("no/such"));
    CPPUNIT_ASSERT(ledger.set(kIpvs4, {"a"}).ok());
    CPPUNIT_ASSERT(std::filesystem::exists(folder_->path("no/such/claims.json")));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ClaimsLedgerTest);

}  // namespace
}  // namespace sluice::app
