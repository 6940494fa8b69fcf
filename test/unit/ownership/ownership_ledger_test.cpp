// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ownership/ownership_ledger.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "test/unit/temporary_folder.hpp"

namespace sluice::ownership {
namespace ownership_ledger_test {

using lib::Family;
using namespace std::chrono_literals;

const std::chrono::system_clock::time_point kNoon = std::chrono::sys_days(std::chrono::year(2026) / 7 / 1) + 12h;

Claim of(const char* backend, Artifacts artifacts, ClaimState state = ClaimState::serving,
         Family family = Family::ipv4) {
  return {backend, family, state, {}, {}, std::move(artifacts)};
}
Claim arriving(const char* backend, Artifacts artifacts) {
  return of(backend, std::move(artifacts), ClaimState::arriving);
}
Claim retiring(const char* backend, Artifacts artifacts) {
  Claim out = of(backend, std::move(artifacts), ClaimState::retiring);
  out.until = kNoon;
  return out;
}

// "ipvs IPv4 serving [a b]", one line each.
std::string text(const std::vector<Claim>& claims) {
  std::string out;
  for (const Claim& claim : claims) {
    out +=
        claim.backend + " " + std::string(lib::family_name(claim.family)) + " " + claim_state_name(claim.state) + " [";
    for (const auto& artifact : claim.artifacts) out += (out.ends_with('[') ? "" : " ") + artifact;
    out += "]\n";
  }
  return out;
}

class OwnershipLedgerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OwnershipLedgerTest);
  CPPUNIT_TEST(a_missing_file_is_an_empty_ownership_ledger);
  CPPUNIT_TEST(entries_are_read_back_by_the_next_process);
  CPPUNIT_TEST(the_file_is_as_documented);
  CPPUNIT_TEST(artifacts_are_sorted_and_unique);
  CPPUNIT_TEST(forgotten_entries_are_removed_from_the_file);
  CPPUNIT_TEST(only_a_change_is_written);
  CPPUNIT_TEST(an_arriving_backend_is_listed_beside_the_serving_one);
  CPPUNIT_TEST(a_family_has_one_serving_backend);
  CPPUNIT_TEST(either_order_of_serving_and_retiring_is_the_same);
  CPPUNIT_TEST(a_swap_to_the_same_id_never_loses_artifacts);
  CPPUNIT_TEST(artifacts_that_the_next_plugin_file_does_not_claim_retire);
  CPPUNIT_TEST(two_runs_with_one_id_may_retire);
  CPPUNIT_TEST(format_1_is_read_and_becomes_format_2);
  CPPUNIT_TEST(a_newer_format_is_kept_aside);
  CPPUNIT_TEST(a_newer_format_that_cannot_be_kept_is_reported);
  CPPUNIT_TEST(a_corrupt_file_is_reported_and_recreated);
  CPPUNIT_TEST(every_kind_of_corruption_is_detected);
  CPPUNIT_TEST(valid_entries_of_a_corrupt_file_are_kept);
  CPPUNIT_TEST(a_corrupt_file_is_rewritten_even_without_a_change);
  CPPUNIT_TEST(a_failed_write_is_an_error);
  CPPUNIT_TEST_SUITE_END();

  std::optional<test::TemporaryFolder> folder_;
  std::string file() const { return folder_->path("claims.json"); }
  // What a process that starts now would find.
  std::string on_disk() const {
    OwnershipLedger next(file());
    CPPUNIT_ASSERT(next.load().ok());
    return text(next.claims());
  }

 public:
  void setUp() override { folder_.emplace(); }
  void tearDown() override { folder_.reset(); }

  void a_missing_file_is_an_empty_ownership_ledger() {
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT(ownership_ledger.load().ok());
    CPPUNIT_ASSERT(ownership_ledger.claims().empty());
  }

  void entries_are_read_back_by_the_next_process() {
    OwnershipLedger first(file());
    CPPUNIT_ASSERT(first.load().ok());
    CPPUNIT_ASSERT(first.record(of("iptables", {"ip6tables/nat/A"}, ClaimState::serving, Family::ipv6)).ok());
    CPPUNIT_ASSERT(first.record(of("iptables", {"iptables/nat/A"})).ok());
    CPPUNIT_ASSERT(first.record(arriving("nftables", {"nft/ip/kube-proxy"})).ok());
    Claim drains = retiring("ipvs", {"link/kube-ipvs0", "ipset/KUBE-*"});
    drains.plugin = "/usr/lib/sluice/ipvs.so";
    CPPUNIT_ASSERT(first.record(drains).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("iptables IPv4 serving [iptables/nat/A]\n"
                                     "iptables IPv6 serving [ip6tables/nat/A]\n"
                                     "ipvs IPv4 retiring [ipset/KUBE-* link/kube-ipvs0]\n"
                                     "nftables IPv4 arriving [nft/ip/kube-proxy]\n"),
                         on_disk());
    OwnershipLedger second(file());
    CPPUNIT_ASSERT(second.load().ok());
    const Claim read = second.claims().at(2);
    CPPUNIT_ASSERT(read.until == kNoon);
    CPPUNIT_ASSERT_EQUAL(drains.plugin, read.plugin);
    CPPUNIT_ASSERT(!second.claims().at(0).until);
  }

  void the_file_is_as_documented() {
    OwnershipLedger ownership_ledger(file());
    Claim drains = retiring("ipvs", {"link/kube-ipvs0"});
    drains.plugin = "/p/ipvs.so";
    drains.until = kNoon + 1ms;  // whole seconds are enough
    CPPUNIT_ASSERT(ownership_ledger.record(drains).ok());
    CPPUNIT_ASSERT(ownership_ledger.record(of("iptables", {"iptables/nat/A"})).ok());
    const auto expected = nlohmann::json::parse(R"({"format":2,"claims":[
      {"backend":"iptables","family":"IPv4","state":"serving","artifacts":["iptables/nat/A"]},
      {"backend":"ipvs","family":"IPv4","state":"retiring","plugin":"/p/ipvs.so","until":"2026-07-01T12:00:00Z",
       "artifacts":["link/kube-ipvs0"]}]})");
    CPPUNIT_ASSERT_EQUAL(expected.dump(), nlohmann::json::parse(folder_->read("claims.json")).dump());
  }

  void artifacts_are_sorted_and_unique() {
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"b", "a", "b"})).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 serving [a b]\n"), text(ownership_ledger.claims()));
  }

  void forgotten_entries_are_removed_from_the_file() {
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"a"})).ok());
    CPPUNIT_ASSERT(ownership_ledger.record(retiring("ipvs", {"b"})).ok());
    CPPUNIT_ASSERT(ownership_ledger.forget("ipvs", Family::ipv6, ClaimState::retiring).ok());
    CPPUNIT_ASSERT(ownership_ledger.forget("iptables", Family::ipv4, ClaimState::retiring).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 serving [a]\nipvs IPv4 retiring [b]\n"), on_disk());
    CPPUNIT_ASSERT(ownership_ledger.forget("ipvs", Family::ipv4, ClaimState::retiring).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 serving [a]\n"), on_disk());
  }

  void only_a_change_is_written() {
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"a", "b"})).ok());
    CPPUNIT_ASSERT(ownership_ledger.record(retiring("nftables", {"c"})).ok());
    std::filesystem::remove(file());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"b", "a"})).ok());
    CPPUNIT_ASSERT(ownership_ledger.record(retiring("nftables", {"c"})).ok());
    CPPUNIT_ASSERT(ownership_ledger.forget("iptables", Family::ipv4, ClaimState::serving).ok());
    CPPUNIT_ASSERT(!std::filesystem::exists(file()));
    Claim later = retiring("nftables", {"c"});
    later.until = kNoon + 1s;
    CPPUNIT_ASSERT(ownership_ledger.record(later).ok());
    CPPUNIT_ASSERT(std::filesystem::exists(file()));
    std::filesystem::remove(file());
    Claim moved = of("ipvs", {"a", "b"});
    moved.plugin = "/elsewhere/ipvs.so";
    CPPUNIT_ASSERT(ownership_ledger.record(moved).ok());
    CPPUNIT_ASSERT(std::filesystem::exists(file()));
  }

  void an_arriving_backend_is_listed_beside_the_serving_one() {
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT(ownership_ledger.record(of("iptables", {"shared", "own"})).ok());
    CPPUNIT_ASSERT(ownership_ledger.record(arriving("ipvs", {"shared", "set"})).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("iptables IPv4 serving [own shared]\nipvs IPv4 arriving [set shared]\n"),
                         on_disk());
    // The swap was rolled back.
    CPPUNIT_ASSERT(ownership_ledger.forget("ipvs", Family::ipv4, ClaimState::arriving).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("iptables IPv4 serving [own shared]\n"), on_disk());
  }

  void a_family_has_one_serving_backend() {
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT(ownership_ledger.record(of("iptables", {"a"})).ok());
    CPPUNIT_ASSERT(ownership_ledger.record(of("iptables", {"a6"}, ClaimState::serving, Family::ipv6)).ok());
    CPPUNIT_ASSERT(ownership_ledger.record(arriving("ipvs", {"b"})).ok());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"b"})).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("iptables IPv4 retiring [a]\niptables IPv6 serving [a6]\nipvs IPv4 serving [b]\n"),
                         on_disk());
  }

  void either_order_of_serving_and_retiring_is_the_same() {
    for (const bool serving_first : {true, false}) {
      std::filesystem::remove(file());
      OwnershipLedger ownership_ledger(file());
      CPPUNIT_ASSERT(ownership_ledger.record(of("iptables", {"a"})).ok());
      CPPUNIT_ASSERT(ownership_ledger.record(arriving("ipvs", {"b"})).ok());
      if (serving_first) CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"b"})).ok());
      CPPUNIT_ASSERT(ownership_ledger.record(retiring("iptables", {"a"})).ok());
      if (!serving_first) CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"b"})).ok());
      CPPUNIT_ASSERT_EQUAL(std::string("iptables IPv4 retiring [a]\nipvs IPv4 serving [b]\n"), on_disk());
      CPPUNIT_ASSERT(ownership_ledger.claims().at(0).until == kNoon);
    }
  }

  void a_swap_to_the_same_id_never_loses_artifacts() {
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"a", "old"})).ok());
    const auto all_listed = [&] {
      const std::string found = on_disk();
      CPPUNIT_ASSERT_MESSAGE(found, found.find("a") != std::string::npos && found.find("old") != std::string::npos);
    };
    CPPUNIT_ASSERT(ownership_ledger.record(arriving("ipvs", {"a", "new"})).ok());
    all_listed();
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 serving [a old]\nipvs IPv4 arriving [a new]\n"), on_disk());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"a", "new"})).ok());
    all_listed();
    CPPUNIT_ASSERT(ownership_ledger.record(retiring("ipvs", {"a", "old"})).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 serving [a new]\nipvs IPv4 retiring [a old]\n"), on_disk());
    CPPUNIT_ASSERT(ownership_ledger.forget("ipvs", Family::ipv4, ClaimState::retiring).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 serving [a new]\n"), on_disk());
  }

  void artifacts_that_the_next_plugin_file_does_not_claim_retire() {
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"ipset/A", "ipset/B", "ipset/KUBE-1", "ipset/KUBE-*"})).ok());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"ipset/KUBE-*", "ipset/A"})).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 serving [ipset/A ipset/KUBE-*]\nipvs IPv4 retiring [ipset/B]\n"),
                         on_disk());
  }

  void two_runs_with_one_id_may_retire() {
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT(ownership_ledger.record(retiring("ipvs", {"first"})).ok());
    CPPUNIT_ASSERT(ownership_ledger.record(retiring("ipvs", {"second"})).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 retiring [first second]\n"), on_disk());
  }

  void format_1_is_read_and_becomes_format_2() {
    folder_->write("claims.json",
                   R"({"format":1,"claims":[{"backend":"ipvs","family":"IPv6","artifacts":["b","a"]}]})");
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv6 serving [a b]\n"), on_disk());
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT(ownership_ledger.load().ok());
    CPPUNIT_ASSERT(ownership_ledger.claims().at(0).plugin.empty());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"a", "b"})).ok());
    CPPUNIT_ASSERT_EQUAL(2, nlohmann::json::parse(folder_->read("claims.json"))["format"].get<int>());
  }

  void a_newer_format_is_kept_aside() {
    const std::string newer = R"({"format":3,"claims":{"ipvs":"otherwise"}})";
    folder_->write("claims.json", newer);
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT_EQUAL(file() + " is of a newer format than this sluiced knows (2); keeping it as " + file() +
                             ".newer and creating a new ownership ledger; leftover state of other backends is unknown",
                         ownership_ledger.load().message());
    CPPUNIT_ASSERT(ownership_ledger.claims().empty());
    CPPUNIT_ASSERT_EQUAL(newer, folder_->read("claims.json.newer"));
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"a"})).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 serving [a]\n"), on_disk());
    CPPUNIT_ASSERT_EQUAL(newer, folder_->read("claims.json.newer"));
  }

  void a_newer_format_that_cannot_be_kept_is_reported() {
    folder_->write("claims.json", R"({"format":3})");
    folder_->write("claims.json.newer/full", "");
    OwnershipLedger ownership_ledger(file());
    const std::string message = ownership_ledger.load().message();
    CPPUNIT_ASSERT_MESSAGE(message,
                           message.find("cannot keep the old one as " + file() + ".newer: ") != std::string::npos);
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"a"})).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 serving [a]\n"), on_disk());
  }

  void a_corrupt_file_is_reported_and_recreated() {
    folder_->write("claims.json", "{\"format\":2,\"claims\":[{\"back");
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT_EQUAL(file() + " is corrupt; creating a new ownership ledger", ownership_ledger.load().message());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"a"})).ok());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 serving [a]\n"), on_disk());
  }

  void every_kind_of_corruption_is_detected() {
    const std::string good =
        R"({"format":2,"claims":[{"backend":"ipvs","family":"IPv4","state":"serving","artifacts":["a"]}]})";
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
      folder_->write("claims.json", good.substr(0, cut));
      OwnershipLedger ownership_ledger(file());
      CPPUNIT_ASSERT_MESSAGE(std::to_string(cut), !ownership_ledger.load().ok());
    }
    for (const char* bad :
         {"[]", "null", "1", "{}", "{\"claims\":{}}", "\x01\x02", "{\"claims\":[7]}",
          R"({"claims":[{"backend":7,"family":"IPv4","artifacts":[]}]})",
          R"({"claims":[{"backend":"","family":"IPv4","artifacts":[]}]})",
          R"({"claims":[{"backend":"x","family":"IPv5","artifacts":[]}]})",
          R"({"claims":[{"backend":"x","family":"IPv4","artifacts":"a"}]})",
          R"({"claims":[{"backend":"x","family":"IPv4","artifacts":["a",""]}]})",
          R"({"claims":[{"backend":"x","family":"IPv4","artifacts":["a",{}]}]})",
          R"({"claims":[{"backend":"x","family":"IPv4","state":"gone","artifacts":["a"]}]})",
          R"({"claims":[{"backend":"x","family":"IPv4","state":1,"artifacts":["a"]}]})",
          R"({"claims":[{"backend":"x","family":"IPv4","plugin":1,"artifacts":["a"]}]})",
          R"({"claims":[{"backend":"x","family":"IPv4","state":"retiring","until":7,"artifacts":["a"]}]})",
          R"({"claims":[{"backend":"x","family":"IPv4","state":"retiring","until":"soon","artifacts":["a"]}]})",
          R"({"claims":[{"backend":"x","family":"IPv4","until":"2026-07-01T12:00:00Zz","artifacts":["a"]}]})"}) {
      folder_->write("claims.json", bad);
      OwnershipLedger ownership_ledger(file());
      CPPUNIT_ASSERT_MESSAGE(bad, !ownership_ledger.load().ok());
      CPPUNIT_ASSERT_MESSAGE(bad, ownership_ledger.claims().empty());
    }
  }

  void valid_entries_of_a_corrupt_file_are_kept() {
    folder_->write("claims.json",
                   R"({"claims":[{"backend":"x"},{"backend":"ipvs","family":"IPv4","artifacts":["b","a"],"new":1}]})");
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT_EQUAL(file() + " is corrupt: 1 of 2 entries are unreadable; they will be recreated",
                         ownership_ledger.load().message());
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 serving [a b]\n"), text(ownership_ledger.claims()));
  }

  void a_corrupt_file_is_rewritten_even_without_a_change() {
    folder_->write("claims.json", R"({"claims":[7,{"backend":"ipvs","family":"IPv4","artifacts":["a"]}]})");
    OwnershipLedger ownership_ledger(file());
    CPPUNIT_ASSERT(!ownership_ledger.load().ok());
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"a"})).ok());
    CPPUNIT_ASSERT(OwnershipLedger(file()).load().ok());
  }

  void a_failed_write_is_an_error() {
    OwnershipLedger ownership_ledger(folder_->path("no/such/claims.json"));
    CPPUNIT_ASSERT(ownership_ledger.load().ok());
    CPPUNIT_ASSERT(!ownership_ledger.record(of("ipvs", {"a"})).ok());
    // What could not be written is written by the next call, even an equal one.
    std::filesystem::create_directories(folder_->path("no/such"));
    CPPUNIT_ASSERT(ownership_ledger.record(of("ipvs", {"a"})).ok());
    CPPUNIT_ASSERT(std::filesystem::exists(folder_->path("no/such/claims.json")));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OwnershipLedgerTest);

}  // namespace ownership_ledger_test
}  // namespace sluice::ownership
