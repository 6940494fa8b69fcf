// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/store.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <utility>

#include "test/unit/store/fixtures.hpp"

namespace sluice::store {
namespace store_test {

using lib::Family;
using model::ResourceKind;

void list(Store& store, ResourceKind kind, std::vector<model::Event> content = {}) {
  store.apply(model::ListBegin{kind});
  for (auto& event : content) store.apply(std::move(event));
  store.apply(model::ListEnd{kind});
}

class StoreTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StoreTest);
  CPPUNIT_TEST(synced_only_after_every_kind_is_listed);
  CPPUNIT_TEST(an_incomplete_list_does_not_count);
  CPPUNIT_TEST(events_that_change_nothing_are_only_counted);
  CPPUNIT_TEST(slices_before_their_service_are_used_when_it_appears);
  CPPUNIT_TEST(only_affected_families_are_dirty);
  CPPUNIT_TEST(zone_change_makes_everything_dirty_other_changes_do_not);
  CPPUNIT_TEST(service_that_turns_external_name_loses_its_ports);
  CPPUNIT_TEST(unusable_object_keeps_its_last_good_state);
  CPPUNIT_TEST(other_nodes_are_ignored);
  CPPUNIT_TEST(changed_details_are_changes);
  CPPUNIT_TEST(lists_say_which_details_they_have);
  CPPUNIT_TEST(changes_are_counted_as_kube_proxy_does);
  CPPUNIT_TEST(trigger_times_belong_to_a_family);
  CPPUNIT_TEST(trigger_times_are_bounded);
  CPPUNIT_TEST(changes_are_reported_once_and_per_family);
  CPPUNIT_TEST(changed_namespaces_are_those_of_changed_objects);
  CPPUNIT_TEST(enabling_external_ips_affects_services_that_have_some);
  CPPUNIT_TEST_SUITE_END();

  void synced_only_after_every_kind_is_listed() {  // case 94
    Store store("N");
    list(store, ResourceKind::service);
    list(store, ResourceKind::endpoint_slice);
    CPPUNIT_ASSERT(!store.synced());
    list(store, ResourceKind::node);
    CPPUNIT_ASSERT(store.synced());
  }

  void an_incomplete_list_does_not_count() {
    Store store("N");
    list(store, ResourceKind::service);
    list(store, ResourceKind::node);
    store.apply(model::ListBegin{ResourceKind::endpoint_slice});
    store.apply(model::Upsert{test::slice("a", {{"10.0.1.1"}})});
    store.apply(model::ListBegin{ResourceKind::endpoint_slice});
    CPPUNIT_ASSERT(!store.synced());
  }

  void events_that_change_nothing_are_only_counted() {  // cases 81, 88, 89
    Store store("N");
    store.apply(model::Upsert{test::service()});
    store.apply(model::Upsert{test::slice("a", {{"10.0.1.1"}})});
    store.take_changes(Family::ipv4);
    store.apply(model::Upsert{test::service()});
    store.apply(model::Upsert{test::slice("a", {{"10.0.1.1"}})});
    store.apply(model::Remove{ResourceKind::endpoint_slice, test::object("ns1", "unknown")});
    CPPUNIT_ASSERT(!store.has_dirty(Family::ipv4));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(5), store.counters().events);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), store.counters().no_op);
  }

  void changed_details_are_changes() {
    Store store("N");
    const auto slice = test::slice("a", {{"10.0.1.1"}});
    const auto take = [&] { return store.take_changes(Family::ipv4).dirty.size(); };
    store.apply(model::Upsert{test::with_details(test::service())});
    store.apply(model::Upsert{test::with_pods(slice, {"p"})});
    take();
    store.apply(model::Upsert{test::with_details(test::service())});
    store.apply(model::Upsert{test::with_pods(slice, {"p"})});
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), take());
    store.apply(model::Upsert{test::with_details(test::service(), "2")});
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), take());
    store.apply(model::Upsert{test::with_pods(slice, {"q"})});
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), take());
    store.apply(model::Upsert{slice});
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), take());
  }

  void lists_say_which_details_they_have() {
    Store store("N");
    CPPUNIT_ASSERT(store.has_details({}) && !store.has_details(test::all_details()));
    store.apply(model::ListEnd{ResourceKind::service, test::wanted(test::all_details())});
    CPPUNIT_ASSERT(!store.has_details(test::all_details()));
    store.apply(model::ListEnd{ResourceKind::endpoint_slice, test::wanted(test::all_details())});
    CPPUNIT_ASSERT(store.has_details(test::all_details()));
    list(store, ResourceKind::service);
    CPPUNIT_ASSERT(!store.has_details(test::all_details()));
  }

  void changes_are_counted_as_kube_proxy_does() {  // BEH 10.4
    Store store("N");
    store.apply(model::Upsert{test::service()});
    store.apply(model::Upsert{test::service()});  // no change, but still an event
    store.apply(model::Upsert{test::slice("a", {{"10.0.1.1"}})});
    store.apply(model::Upsert{test::slice("a", {{"10.0.1.1"}})});   // likewise
    store.apply(model::Upsert{test::slice("b", {{"10.0.1.2"}})});
    store.apply(model::Upsert{test::slice("six", {{"fd00::1"}})});  // of a Service without an address in that family
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), store.counters().service_events);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), store.counters().slice_events[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), store.counters().slice_events[1]);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), store.pending_services(Family::ipv4).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), store.pending_services(Family::ipv6).size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), store.pending_slice_changes(Family::ipv4));
    store.take_changes(Family::ipv4);
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), store.pending_services(Family::ipv4).size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), store.pending_slice_changes(Family::ipv4));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), store.pending_slice_changes(Family::ipv6));

    store.apply(model::Remove{ResourceKind::endpoint_slice, test::object("ns1", "a")});
    store.apply(model::Remove{ResourceKind::endpoint_slice, test::object("ns1", "a")});  // already removed
    list(store, ResourceKind::endpoint_slice, {});                                       // b and six are gone
    list(store, ResourceKind::service, {});
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(5), store.counters().slice_events[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), store.counters().slice_events[1]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), store.counters().service_events);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), store.pending_slice_changes(Family::ipv4));
  }

  void trigger_times_belong_to_a_family() {  // case 92
    Store store("N");
    auto four = test::slice("four", {{"10.0.1.1"}});
    auto six = test::slice("six", {{"fd00::1"}});
    four.trigger_time = six.trigger_time = std::chrono::system_clock::now() + std::chrono::seconds(1);
    auto service = test::service();
    service.cluster_ips.push_back(*lib::IpAddress::parse("fd01::1"));
    store.apply(model::Upsert{service});
    store.apply(model::Upsert{four});
    store.apply(model::Upsert{six});
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), store.take_changes(Family::ipv4).triggers.size());
    CPPUNIT_ASSERT(store.take_changes(Family::ipv4).triggers.empty());
    four.endpoints.push_back(test::endpoint({"10.0.1.2"}));
    store.apply(model::Upsert{four});
    // A removal drops the times of its own family.
    store.apply(model::Remove{ResourceKind::endpoint_slice, test::object("ns1", "four")});
    CPPUNIT_ASSERT(store.take_changes(Family::ipv4).triggers.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), store.take_changes(Family::ipv6).triggers.size());
  }

  void trigger_times_are_bounded() {
    Store store("N");
    store.apply(model::Upsert{test::service()});
    auto slice = test::slice("a", {{"10.0.1.1"}, {"10.0.1.2"}});
    slice.trigger_time = std::chrono::system_clock::now() + std::chrono::seconds(1);
    for (int i = 0; i < 3000; ++i) {
      slice.endpoints[1].ready = !slice.endpoints[1].ready;
      store.apply(model::Upsert{slice});
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t(1024), store.take_changes(Family::ipv4).triggers.size());
  }

  void changes_are_reported_once_and_per_family() {
    Store store("N");
    store.apply(model::Upsert{test::service("a")});
    store.apply(model::Upsert{test::slice("a-x", {{"10.0.1.1"}}, "a")});
    store.take_changes(Family::ipv4);
    store.apply(model::Upsert{test::slice("a-x", {{"10.0.1.2"}}, "a")});
    store.apply(model::Upsert{test::service("b")});
    CPPUNIT_ASSERT(store.take_changes(Family::ipv6).dirty.empty());
    const Changes changes = store.take_changes(Family::ipv4);
    CPPUNIT_ASSERT((changes.dirty == std::unordered_set{test::object("ns1", "a"), test::object("ns1", "b")}));
    CPPUNIT_ASSERT((changes.services == std::unordered_set{test::object("ns1", "b")}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), changes.slices);
    CPPUNIT_ASSERT(store.take_changes(Family::ipv4).dirty.empty());
    CPPUNIT_ASSERT((store.service_names(Family::ipv4) == changes.dirty));
    CPPUNIT_ASSERT(store.service_names(Family::ipv6).empty());
  }

  void enabling_external_ips_affects_services_that_have_some() {
    Store store("N", {.external_ips = false});
    auto with = test::service("with");
    with.external_ips = {*lib::IpAddress::parse("192.0.2.7")};
    store.apply(model::Upsert{with});
    store.apply(model::Upsert{test::service("without")});
    store.take_changes(Family::ipv4);
    store.set_options({.external_ips = false});
    CPPUNIT_ASSERT(!store.has_dirty(Family::ipv4));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), store.resolve_service(with.name, Family::ipv4).at(0).frontends.size());
    store.set_options({.external_ips = true});
    CPPUNIT_ASSERT((store.take_changes(Family::ipv4).dirty == std::unordered_set{with.name}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), store.resolve_service(with.name, Family::ipv4).at(0).frontends.size());
  }

  void changed_namespaces_are_those_of_changed_objects() {
    Store store("N");
    const auto changed = [&] {
      std::string out;
      for (const auto& one : store.changed_namespaces(Family::ipv4))
        out += (out.empty() ? "" : " ") + std::string(one.text());
      store.take_changes(Family::ipv4);
      return out;
    };
    store.apply(model::Upsert{test::service()});
    CPPUNIT_ASSERT_EQUAL(std::string("ns1"), changed());
    CPPUNIT_ASSERT_EQUAL(std::string(), changed());
    store.apply(model::Upsert{test::slice("a", {{"10.0.1.1"}})});
    CPPUNIT_ASSERT_EQUAL(std::string("ns1"), changed());
    store.apply(model::Upsert{test::slice("no-service", {{"10.0.1.1"}}, "svc2")});
    CPPUNIT_ASSERT_EQUAL(std::string(), changed());
    // It takes an external IP from the first one's hands, or gives it back: only its own namespace has changed.
    auto other = test::service();
    other.name = test::object("ns2", "svc1");
    other.external_ips = other.cluster_ips;
    other.cluster_ips = {*lib::IpAddress::parse("172.30.0.42")};
    store.apply(model::Upsert{other});
    CPPUNIT_ASSERT_EQUAL(std::string("ns2"), changed());
    store.apply(model::Remove{ResourceKind::service, other.name});
    CPPUNIT_ASSERT_EQUAL(std::string("ns2"), changed());
    store.apply(model::Upsert{test::node("N", "b")});
    CPPUNIT_ASSERT(store.has_dirty(Family::ipv4));
    CPPUNIT_ASSERT_EQUAL(std::string(), changed());
  }

  void slices_before_their_service_are_used_when_it_appears() {  // case 87
    Store store("N");
    store.apply(model::Upsert{test::slice("a", {{"10.0.1.1"}})});
    CPPUNIT_ASSERT(!store.has_dirty(Family::ipv4));
    store.apply(model::Upsert{test::service()});
    CPPUNIT_ASSERT(store.has_dirty(Family::ipv4));
    const auto ports = store.resolve_service(test::object("ns1", "svc1"), Family::ipv4);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), ports.at(0).endpoints.size());
  }

  void only_affected_families_are_dirty() {
    Store store("N");
    store.apply(model::Upsert{test::service()});
    CPPUNIT_ASSERT(store.has_dirty(Family::ipv4));
    CPPUNIT_ASSERT(!store.has_dirty(Family::ipv6));
    store.apply(model::Upsert{test::slice("six", {{"fd00::1"}})});
    CPPUNIT_ASSERT(!store.has_dirty(Family::ipv6));
  }

  void zone_change_makes_everything_dirty_other_changes_do_not() {  // case 53
    Store store("N");
    store.apply(model::Upsert{test::service()});
    store.apply(model::Upsert{test::node("N", "a")});
    store.take_changes(Family::ipv4);
    auto node = test::node("N", "a");
    node.internal_ips = {*lib::IpAddress::parse("192.168.0.2")};
    store.apply(model::Upsert{node});
    CPPUNIT_ASSERT(!store.has_dirty(Family::ipv4));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), store.node_version());
    node.zone = "b";
    store.apply(model::Upsert{node});
    CPPUNIT_ASSERT(store.has_dirty(Family::ipv4));
  }

  void service_that_turns_external_name_loses_its_ports() {  // case 79
    Store store("N");
    store.apply(model::Upsert{test::service()});
    store.take_changes(Family::ipv4);
    auto service = test::service();
    service.type = model::ServiceType::external_name;
    store.apply(model::Upsert{service});
    CPPUNIT_ASSERT(store.has_dirty(Family::ipv4));
    CPPUNIT_ASSERT(store.resolve_service(service.name, Family::ipv4).empty());
  }

  void unusable_object_keeps_its_last_good_state() {
    Store store("N");
    list(store, ResourceKind::service, {model::Upsert{test::service()}});
    list(store, ResourceKind::service, {model::Unusable{ResourceKind::service, test::object("ns1", "svc1")}});
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), store.service_count());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), store.counters().unusable);
    list(store, ResourceKind::service);
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), store.service_count());
  }

  void other_nodes_are_ignored() {
    Store store("N");
    store.apply(model::Upsert{test::node("M", "b")});
    CPPUNIT_ASSERT(!store.node().has_value());
    store.apply(model::Upsert{test::node("N", "a")});
    store.apply(model::Remove{ResourceKind::node, {base::Symbol(), "N"}});
    CPPUNIT_ASSERT_EQUAL(std::string("a"), store.node()->zone);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(StoreTest);

}  // namespace store_test
}  // namespace sluice::store
