// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/slice_cache.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "test/unit/store/fixtures.hpp"

namespace sluice::store {
namespace slice_cache_test {

using test::object;
using test::slice;

std::vector<Candidate> candidates(const SliceCache& cache, const std::string& service, lib::Family family,
                                  const char* port, model::Protocol protocol, const char* node) {
  return SliceCache::candidates(cache.matches(object("ns1", service), family, {{base::Symbol(port), protocol}}).at(0),
                                node);
}

class SliceCacheTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SliceCacheTest);
  CPPUNIT_TEST(merges_slices_in_byte_order);
  CPPUNIT_TEST(sorts_any_addresses_and_ports_as_their_text);
  CPPUNIT_TEST(non_terminating_record_wins_in_either_order);
  CPPUNIT_TEST(identical_slice_affects_nothing);
  CPPUNIT_TEST(unknown_slice_removal_affects_nothing);
  CPPUNIT_TEST(removing_one_of_two_keeps_the_other);
  CPPUNIT_TEST(slice_that_changes_owner_affects_both);
  CPPUNIT_TEST(relist_removes_slices_that_it_does_not_contain);
  CPPUNIT_TEST(unusable_slice_survives_a_relist);
  CPPUNIT_TEST(port_name_protocol_and_family_must_match);
  CPPUNIT_TEST(own_node_is_local_and_empty_node_name_is_not);
  CPPUNIT_TEST(trigger_times_are_kept_until_taken_and_dropped_on_removal);
  CPPUNIT_TEST(a_change_of_details_has_no_trigger_time);
  CPPUNIT_TEST(candidates_have_the_details_of_their_record);
  CPPUNIT_TEST(counts_endpoints);
  CPPUNIT_TEST_SUITE_END();

  static std::vector<std::string> addresses(const SliceCache& cache, const std::string& service = "svc1") {
    std::vector<std::string> out;
    for (const auto& c : candidates(cache, service, lib::Family::ipv4, "p80", model::Protocol::tcp, "N")) {
      out.push_back(lib::IpAddress::from_bytes(lib::Family::ipv4, c.address.data()).to_string());
    }
    return out;
  }
  static std::string joined(const std::vector<std::string>& list) {
    std::string out;
    for (const auto& item : list) out += item + " ";
    return out;
  }

  // BEH 2.5: 10.0.1.10:80 before 10.0.1.1:80, because '0' is below ':'.
  void merges_slices_in_byte_order() {
    SliceCache cache;
    cache.upsert(slice("b", {{"10.0.1.1"}, {"10.0.1.2"}}));
    cache.upsert(slice("a", {{"10.0.1.10"}}));
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.1.10 10.0.1.1 10.0.1.2 "), joined(addresses(cache)));
  }

  void sorts_any_addresses_and_ports_as_their_text() {
    std::minstd_rand random(1);
    for (const auto family : lib::kFamilies) {
      SliceCache cache;
      std::set<std::string> wanted;
      for (int i = 0; i < 300; ++i) {
        std::array<std::uint8_t, 16> bytes{};
        // Many zeros, so that IPv6 addresses have short forms.
        for (auto& byte : bytes) byte = random() % 3 == 0 ? 0 : static_cast<std::uint8_t>(random());
        if (random() % 8 == 0) std::fill_n(bytes.begin(), 10, 0);
        const auto address = lib::IpAddress::from_bytes(family, bytes.data());
        auto one = slice("slice-" + std::to_string(i), {});
        one.family = family;
        one.ports[0].port = static_cast<std::uint16_t>(1 + random() % 65'535);
        one.endpoints.emplace_back();
        one.endpoints.back().address = address.bytes();
        wanted.insert(lib::host_port(address, one.ports[0].port));
        cache.upsert(one);
      }
      std::vector<std::string> found;
      for (const auto& c : candidates(cache, "svc1", family, "p80", model::Protocol::tcp, "N")) {
        found.push_back(lib::host_port(lib::IpAddress::from_bytes(family, c.address.data()), c.port));
      }
      CPPUNIT_ASSERT((std::vector<std::string>(wanted.begin(), wanted.end()) == found));
    }
  }

  // Case 85.
  void non_terminating_record_wins_in_either_order() {
    for (const bool terminating_first : {true, false}) {
      SliceCache cache;
      cache.upsert(slice(terminating_first ? "a" : "b", {{"10.0.1.1", "N", "terminating"}}));
      cache.upsert(slice(terminating_first ? "b" : "a", {{"10.0.1.1", "N", "ready"}}));
      const auto merged = candidates(cache, "svc1", lib::Family::ipv4, "p80", model::Protocol::tcp, "N");
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), merged.size());
      CPPUNIT_ASSERT(merged[0].ready);
      CPPUNIT_ASSERT(!merged[0].terminating);
    }
  }

  void a_change_of_details_has_no_trigger_time() {
    SliceCache cache;
    auto one = slice("a", {{"10.0.1.1"}});
    one.trigger_time = std::chrono::system_clock::now() + std::chrono::seconds(1);
    cache.upsert(one);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), cache.take_trigger_times(object("ns1", "svc1"), lib::Family::ipv4).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), cache.upsert(test::with_pods(one, {"p"})).services.size());
    CPPUNIT_ASSERT(cache.take_trigger_times(object("ns1", "svc1"), lib::Family::ipv4).empty());
  }

  void candidates_have_the_details_of_their_record() {
    SliceCache cache;
    cache.upsert(test::with_pods(slice("a", {{"10.0.1.2"}, {"10.0.1.1"}}), {"p2", "p1"}));
    cache.upsert(slice("b", {{"10.0.1.3"}}));
    const auto found = candidates(cache, "svc1", lib::Family::ipv4, "p80", model::Protocol::tcp, "N");
    CPPUNIT_ASSERT_EQUAL(std::string("p1"), found.at(0).details->pod->name);
    CPPUNIT_ASSERT_EQUAL(std::string("p2"), found.at(1).details->pod->name);
    CPPUNIT_ASSERT(found.at(2).details == nullptr);
  }

  void identical_slice_affects_nothing() {
    SliceCache cache;
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), cache.upsert(slice("a", {{"10.0.1.1"}})).services.size());
    CPPUNIT_ASSERT(cache.upsert(slice("a", {{"10.0.1.1"}})).services.empty());
  }

  void unknown_slice_removal_affects_nothing() {  // case 89
    SliceCache cache;
    CPPUNIT_ASSERT(cache.remove(object("ns1", "unknown")).services.empty());
  }

  void removing_one_of_two_keeps_the_other() {  // case 89
    SliceCache cache;
    cache.upsert(slice("a", {{"10.0.1.1"}}));
    cache.upsert(slice("b", {{"10.0.1.2"}}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), cache.remove(object("ns1", "a")).services.size());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.1.2 "), joined(addresses(cache)));
  }

  void slice_that_changes_owner_affects_both() {
    SliceCache cache;
    cache.upsert(slice("a", {{"10.0.1.1"}}, "svc1"));
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), cache.upsert(slice("a", {{"10.0.1.1"}}, "svc2")).services.size());
    CPPUNIT_ASSERT(addresses(cache, "svc1").empty());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.1.1 "), joined(addresses(cache, "svc2")));
  }

  void relist_removes_slices_that_it_does_not_contain() {
    SliceCache cache;
    cache.begin_list();
    cache.upsert(slice("a", {{"10.0.1.1"}}));
    cache.upsert(slice("b", {{"10.0.1.2"}}));
    CPPUNIT_ASSERT(cache.end_list().services.empty());
    // After an incomplete list and its restart, slices that only the first part contained are removed.
    cache.begin_list();
    cache.upsert(slice("a", {{"10.0.1.1"}}));
    cache.begin_list();
    cache.upsert(slice("b", {{"10.0.1.2"}}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), cache.end_list().services.size());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.1.2 "), joined(addresses(cache)));
  }

  void unusable_slice_survives_a_relist() {
    SliceCache cache;
    cache.upsert(slice("a", {{"10.0.1.1"}}));
    cache.begin_list();
    cache.touch(object("ns1", "a"));
    CPPUNIT_ASSERT(cache.end_list().services.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.1.1 "), joined(addresses(cache)));
  }

  void port_name_protocol_and_family_must_match() {
    SliceCache cache;
    cache.upsert(slice("a", {{"10.0.1.1"}}));
    const auto find = [&](lib::Family family, const char* port, model::Protocol protocol) {
      return candidates(cache, "svc1", family, port, protocol, "N").size();
    };
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), find(lib::Family::ipv4, "p80", model::Protocol::tcp));
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), find(lib::Family::ipv6, "p80", model::Protocol::tcp));
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), find(lib::Family::ipv4, "", model::Protocol::tcp));
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), find(lib::Family::ipv4, "p80", model::Protocol::udp));
  }

  void own_node_is_local_and_empty_node_name_is_not() {  // case 91
    SliceCache cache;
    cache.upsert(slice("a", {{"10.0.1.1", "N"}, {"10.0.1.2", "M"}, {"10.0.1.3", ""}}));
    const auto local = [&](const char* node) {
      std::string out;
      for (const auto& c : candidates(cache, "svc1", lib::Family::ipv4, "p80", model::Protocol::tcp, node)) {
        out += c.local ? 'l' : 'r';
      }
      return out;
    };
    CPPUNIT_ASSERT_EQUAL(std::string("lrr"), local("N"));
    CPPUNIT_ASSERT_EQUAL(std::string("rrr"), local(""));
  }

  // Case 92.
  void trigger_times_are_kept_until_taken_and_dropped_on_removal() {
    SliceCache cache;
    auto changed = slice("a", {{"10.0.1.1"}});
    changed.trigger_time = std::chrono::system_clock::now() + std::chrono::seconds(1);
    cache.upsert(changed);
    changed.endpoints.push_back(test::endpoint({"10.0.1.2"}));
    cache.upsert(changed);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), cache.take_trigger_times(object("ns1", "svc1"), lib::Family::ipv4).size());
    CPPUNIT_ASSERT(cache.take_trigger_times(object("ns1", "svc1"), lib::Family::ipv4).empty());
    auto old = slice("b", {{"10.0.1.3"}});
    old.trigger_time = std::chrono::system_clock::now() - std::chrono::hours(1);
    cache.upsert(old);
    CPPUNIT_ASSERT(cache.take_trigger_times(object("ns1", "svc1"), lib::Family::ipv4).empty());
    changed.endpoints.pop_back();
    cache.upsert(changed);
    cache.remove(object("ns1", "b"));
    CPPUNIT_ASSERT(cache.take_trigger_times(object("ns1", "svc1"), lib::Family::ipv4).empty());
  }

  void counts_endpoints() {
    SliceCache cache;
    cache.upsert(slice("a", {{"10.0.1.1"}, {"10.0.1.2"}}));
    cache.upsert(slice("b", {{"10.0.1.3"}}));
    cache.upsert(slice("a", {{"10.0.1.1"}}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), cache.endpoint_count());
    cache.remove(object("ns1", "a"));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), cache.endpoint_count());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), cache.slice_count());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SliceCacheTest);

}  // namespace slice_cache_test
}  // namespace sluice::store
