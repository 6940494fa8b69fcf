// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/snapshot/builder.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/store/fixtures.hpp"

namespace sluice::snapshot {
namespace builder_test {

using lib::Family;

class BuilderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(BuilderTest);
  CPPUNIT_TEST(delta_has_only_changed_service_ports);
  CPPUNIT_TEST(reverted_change_makes_an_empty_delta);
  CPPUNIT_TEST(service_added_and_removed_makes_an_empty_delta);
  CPPUNIT_TEST(renamed_port_is_removed_and_added);
  CPPUNIT_TEST(removed_service_is_removed);
  CPPUNIT_TEST(full_transaction_is_sorted_and_shares_memory);
  CPPUNIT_TEST(base_generation_is_the_previous_generation);
  CPPUNIT_TEST(delivered_state_excludes_pending_changes);
  CPPUNIT_TEST(changed_node_facts_make_a_delta);
  CPPUNIT_TEST(endpoint_moved_between_slices_makes_an_empty_delta);
  CPPUNIT_TEST(new_subscription_starts_with_full_transaction);
  CPPUNIT_TEST(later_changes_reach_both_subscriptions);
  CPPUNIT_TEST(subscriptions_have_independent_deltas);
  CPPUNIT_TEST(pending_changes_use_bounded_memory);
  CPPUNIT_TEST(pending_services_are_counted_once);
  CPPUNIT_TEST(new_subscription_omits_earlier_trigger_times);
  CPPUNIT_TEST(details_change_only_transactions_that_have_them);
  CPPUNIT_TEST(a_changed_application_protocol_is_a_change_of_its_port);
  CPPUNIT_TEST(new_subscription_has_its_own_details);
  CPPUNIT_TEST(deferred_namespaces_wait_for_the_next_transaction);
  CPPUNIT_TEST(deferred_namespace_without_changes_is_not_partial);
  CPPUNIT_TEST(address_takeover_is_one_transaction);
  CPPUNIT_TEST(node_port_of_a_removed_service_passes_in_one_transaction);
  CPPUNIT_TEST_SUITE_END();

  store::Store store_{"N"};
  Builder builder_{Family::ipv4, {}};

 public:
  void setUp() override { builder_.set_node_facts({std::make_shared<const NodeFacts>(), 1}); }

 private:
  // Distributes pending changes as the store thread does.
  Transaction delta() {
    builder_.note(store_.take_changes(Family::ipv4));
    return builder_.delta(store_);
  }
  Transaction full() {
    builder_.note(store_.take_changes(Family::ipv4));
    return builder_.full(store_);
  }
  static std::vector<std::string> names(const Transaction& transaction) {
    std::vector<std::string> out;
    for (const auto& port : transaction.service_ports) out.push_back(port->key.to_string());
    for (const auto& key : transaction.removed) out.push_back("-" + key.to_string());
    return out;
  }
  void add(const std::string& name) {
    auto service = test::service(name);
    store_.apply(model::Upsert{service});
    store_.apply(model::Upsert{test::slice(name + "-x", {{"10.180.0.1", "N"}}, name)});
  }

  void add_with_details(const std::string& name, const std::string& value, const std::string& pod) {
    store_.apply(model::Upsert{test::with_details(test::service(name), value)});
    store_.apply(model::Upsert{test::with_pods(test::slice(name + "-x", {{"10.180.0.1", "N"}}, name), {pod})});
  }

  void details_change_only_transactions_that_have_them() {
    Builder details(Family::ipv4, {}, test::all_details());
    details.set_node_facts({std::make_shared<const NodeFacts>(), 1});
    const auto take = [&] {
      auto changes = store_.take_changes(Family::ipv4);
      builder_.note(changes);
      details.note(changes);
      return std::pair(names(builder_.delta(store_)).size(), names(details.delta(store_)).size());
    };
    add_with_details("a", "1", "p");
    CPPUNIT_ASSERT(take() == std::pair(std::size_t(1), std::size_t(1)));
    add_with_details("a", "2", "p");
    CPPUNIT_ASSERT(take() == std::pair(std::size_t(0), std::size_t(1)));
    add_with_details("a", "2", "q");
    CPPUNIT_ASSERT(take() == std::pair(std::size_t(0), std::size_t(1)));
    add("a");
    CPPUNIT_ASSERT(take() == std::pair(std::size_t(0), std::size_t(1)));
  }

  void a_changed_application_protocol_is_a_change_of_its_port() {
    builder_ = Builder(Family::ipv4, {}, test::all_details());
    auto service = test::service("a");
    service.ports.push_back({base::Symbol("p81"), model::Protocol::tcp, 81, 0});
    store_.apply(model::Upsert{test::with_details(service)});
    setUp();
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), delta().service_ports.size());
    model::ServiceDetails changed = *test::with_details(service).details;
    changed.app_protocols[1] = base::Symbol("grpc");
    service.details = model::Shared(changed);
    store_.apply(model::Upsert{service});
    CPPUNIT_ASSERT((names(delta()) == std::vector<std::string>{"ns1/a:p81"}));
  }

  void new_subscription_has_its_own_details() {
    add_with_details("a", "1", "p");
    CPPUNIT_ASSERT(!full().service_ports.at(0)->details);
    Builder with = builder_.for_new_subscription(test::all_details());
    const auto first = with.full(store_);
    CPPUNIT_ASSERT_EQUAL(std::string("p"), first.service_ports.at(0)->details->endpoints.at(0).pod->name);
    Builder without = with.for_new_subscription({});
    CPPUNIT_ASSERT(!without.full(store_).service_ports.at(0)->details);
    Builder same = with.for_new_subscription(test::all_details());
    CPPUNIT_ASSERT(same.full(store_).service_ports.at(0) == first.service_ports.at(0));  // shares memory
  }

  void delta_has_only_changed_service_ports() {
    add("a");
    add("b");
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), delta().service_ports.size());
    store_.apply(model::Upsert{test::slice("a-x", {{"10.180.0.1", "N"}, {"10.180.2.1"}}, "a")});
    const auto next = delta();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), next.service_ports.size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/a:p80"), next.service_ports[0]->key.to_string());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), next.service_ports[0]->endpoints.size());
    CPPUNIT_ASSERT(delta().empty());
  }

  void delivered_state_excludes_pending_changes() {
    add("a");
    CPPUNIT_ASSERT(builder_.delivered_names().empty() && builder_.delivered(test::object("ns1", "a")).empty());
    delta();
    add("b");
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), builder_.delivered_names().size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/a:p80"), builder_.delivered(test::object("ns1", "a")).at(0)->key.to_string());
    CPPUNIT_ASSERT(store_.has_dirty(Family::ipv4));  // reading does not consume changes
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), delta().service_ports.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), builder_.delivered_names().size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), builder_.generation());
  }

  static model::Service service_in(const std::string& name_space, const std::string& cluster_ip) {
    auto out = test::service("web");
    out.name = test::object(name_space, "web");
    out.cluster_ips = {*lib::IpAddress::parse(cluster_ip)};
    return out;
  }
  void put_slice_in(const std::string& name_space, const std::string& address) {
    auto slice = test::slice("web-x", {{address}}, "web");
    slice.name.name_space = slice.service.name_space = base::Symbol(name_space);
    slice.trigger_time = std::chrono::system_clock::now() + std::chrono::hours(1);
    store_.apply(model::Upsert{slice});
  }
  Transaction delta_without(const std::string& name_space) {
    builder_.note(store_.take_changes(Family::ipv4));
    return builder_.delta(store_, {base::Symbol(name_space)});
  }
  using Names = std::vector<std::string>;

  void deferred_namespaces_wait_for_the_next_transaction() {
    store_.apply(model::Upsert{service_in("busy", "172.30.0.1")});
    store_.apply(model::Upsert{service_in("calm", "172.30.0.2")});
    put_slice_in("busy", "10.180.0.1");
    put_slice_in("calm", "10.180.0.2");
    const auto first = delta_without("busy");
    CPPUNIT_ASSERT(first.partial && !first.empty());
    CPPUNIT_ASSERT((names(first) == Names{"calm/web:p80"}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), first.trigger_times.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), builder_.pending_services(store_));
    CPPUNIT_ASSERT(builder_.has_pending(store_));
    const auto nothing = delta_without("busy");
    CPPUNIT_ASSERT(nothing.partial && nothing.empty());
    const auto rest = delta();
    CPPUNIT_ASSERT(!rest.partial);
    CPPUNIT_ASSERT((names(rest) == Names{"busy/web:p80"}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), rest.trigger_times.size());
    CPPUNIT_ASSERT_EQUAL(first.generation, rest.base_generation);
    CPPUNIT_ASSERT(!builder_.has_pending(store_));
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), builder_.pending_services(store_));
  }

  void deferred_namespace_without_changes_is_not_partial() {
    store_.apply(model::Upsert{service_in("calm", "172.30.0.2")});
    const auto all = delta_without("busy");
    CPPUNIT_ASSERT(!all.partial);
    CPPUNIT_ASSERT((names(all) == Names{"calm/web:p80"}));
  }

  void address_takeover_is_one_transaction() {
    auto busy = service_in("busy", "172.30.0.1");
    auto calm = service_in("calm", "172.30.0.2");
    busy.external_ips = {*lib::IpAddress::parse("192.0.2.7")};
    store_.apply(model::Upsert{busy});
    store_.apply(model::Upsert{calm});
    delta();
    calm.external_ips = std::exchange(busy.external_ips, {});
    store_.apply(model::Upsert{busy});
    store_.apply(model::Upsert{calm});
    const auto both = delta_without("busy");
    CPPUNIT_ASSERT(!both.partial);
    CPPUNIT_ASSERT((names(both) == Names{"busy/web:p80", "calm/web:p80"}));
    // If the new owner is deferred, clients would be refused until the next transaction.
    busy.external_ips = std::exchange(calm.external_ips, {});
    store_.apply(model::Upsert{calm});
    store_.apply(model::Upsert{busy});
    const auto back = delta_without("busy");
    CPPUNIT_ASSERT(!back.partial);
    CPPUNIT_ASSERT((names(back) == Names{"busy/web:p80", "calm/web:p80"}));
  }

  void node_port_of_a_removed_service_passes_in_one_transaction() {
    auto calm = service_in("calm", "172.30.0.1");
    auto busy = service_in("busy", "172.30.0.2");
    calm.ports[0].node_port = busy.ports[0].node_port = 30'080;
    store_.apply(model::ListBegin{model::ResourceKind::service});
    store_.apply(model::Upsert{calm});
    store_.apply(model::ListEnd{model::ResourceKind::service});  // from now on a holder keeps its node port
    delta();
    store_.apply(model::Upsert{busy});
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), delta().service_ports.at(0)->frontends.size());
    store_.apply(model::Remove{model::ResourceKind::service, calm.name});
    const auto passed = delta_without("busy");
    CPPUNIT_ASSERT(!passed.partial);
    CPPUNIT_ASSERT((names(passed) == Names{"busy/web:p80", "-calm/web:p80"}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), passed.service_ports.at(0)->frontends.size());
  }

  void reverted_change_makes_an_empty_delta() {  // case 82
    add("a");
    delta();
    store_.apply(model::Upsert{test::slice("a-x", {{"10.180.2.1"}}, "a")});
    store_.apply(model::Upsert{test::slice("a-x", {{"10.180.0.1", "N"}}, "a")});
    CPPUNIT_ASSERT(store_.has_dirty(Family::ipv4));
    CPPUNIT_ASSERT(delta().empty());
  }

  void service_added_and_removed_makes_an_empty_delta() {  // case 81
    delta();
    add("a");
    store_.apply(model::Remove{model::ResourceKind::service, test::object("ns1", "a")});
    CPPUNIT_ASSERT(delta().empty());
  }

  void renamed_port_is_removed_and_added() {  // case 90
    add("a");
    delta();
    auto service = test::service("a");
    service.ports[0].name = base::Symbol("p80-2");
    store_.apply(model::Upsert{service});
    const auto next = delta();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), next.service_ports.size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/a:p80-2"), next.service_ports[0]->key.to_string());
    CPPUNIT_ASSERT(!next.service_ports[0]->has_any_endpoint);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), next.removed.size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/a:p80"), next.removed[0].to_string());
  }

  void removed_service_is_removed() {
    add("a");
    delta();
    store_.apply(model::Remove{model::ResourceKind::service, test::object("ns1", "a")});
    const auto next = delta();
    CPPUNIT_ASSERT(next.service_ports.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), next.removed.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), builder_.service_port_count());
  }

  void full_transaction_is_sorted_and_shares_memory() {
    add("c");
    add("a");
    add("b");
    const auto first = full();
    CPPUNIT_ASSERT(first.full);
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), first.service_ports.size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/a:p80"), first.service_ports[0]->key.to_string());
    const auto second = full();
    CPPUNIT_ASSERT_EQUAL(first.generation, second.generation);
    CPPUNIT_ASSERT(first.service_ports[0] == second.service_ports[0]);
  }

  void base_generation_is_the_previous_generation() {
    add("a");
    const auto first = full();
    add("b");
    const auto second = delta();
    CPPUNIT_ASSERT_EQUAL(first.generation, second.base_generation);
    CPPUNIT_ASSERT_EQUAL(first.generation + 1, second.generation);
  }

  void changed_node_facts_make_a_delta() {
    delta();
    NodeFacts facts;
    facts.name = "N";
    const VersionedFacts changed{std::make_shared<const NodeFacts>(facts), 2};
    builder_.set_node_facts(changed);
    CPPUNIT_ASSERT(builder_.has_pending(store_));
    const auto next = delta();
    CPPUNIT_ASSERT(!next.empty());
    CPPUNIT_ASSERT(next.service_ports.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("N"), next.node->name);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), next.node_version);
    builder_.set_node_facts(changed);
    CPPUNIT_ASSERT(!builder_.has_pending(store_));
  }

  void endpoint_moved_between_slices_makes_an_empty_delta() {  // case 86
    add("a");
    delta();
    store_.apply(model::Upsert{test::slice("a-y", {{"10.180.0.1", "N"}}, "a")});
    store_.apply(model::Remove{model::ResourceKind::endpoint_slice, test::object("ns1", "a-x")});
    CPPUNIT_ASSERT(delta().empty());
  }

  void new_subscription_starts_with_full_transaction() {
    add("a");
    add("b");
    const auto first = full();
    Builder other = builder_.for_new_subscription({});
    CPPUNIT_ASSERT(!other.began());
    CPPUNIT_ASSERT(other.delivered_names().empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), other.generation());
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), other.service_port_count());
    const auto all = other.full(store_);
    CPPUNIT_ASSERT(names(first) == names(all));
    CPPUNIT_ASSERT(first.service_ports[0] == all.service_ports[0] && first.service_ports[1] == all.service_ports[1]);
    CPPUNIT_ASSERT(first.node == all.node && first.node_version == all.node_version);
    CPPUNIT_ASSERT(other.began());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), other.delivered_names().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), other.service_port_count());
  }

  void later_changes_reach_both_subscriptions() {
    add("a");
    delta();
    Builder other = builder_.for_new_subscription({});
    add("b");
    store_.apply(model::Remove{model::ResourceKind::service, test::object("ns1", "a")});
    const auto changes = store_.take_changes(Family::ipv4);
    builder_.note(changes);
    other.note(changes);
    CPPUNIT_ASSERT((names(builder_.delta(store_)) == std::vector<std::string>{"ns1/b:p80", "-ns1/a:p80"}));
    CPPUNIT_ASSERT(other.has_pending(store_));
    CPPUNIT_ASSERT((names(other.full(store_)) == std::vector<std::string>{"ns1/b:p80"}));
    CPPUNIT_ASSERT(other.delta(store_).empty());
  }

  // Each delta starts at the last transaction of the same subscription.
  void subscriptions_have_independent_deltas() {
    add("a");
    delta();
    Builder other = builder_.for_new_subscription({});
    other.full(store_);
    store_.apply(model::Upsert{test::slice("a-x", {{"10.180.2.1"}}, "a")});
    auto changes = store_.take_changes(Family::ipv4);
    builder_.note(changes);
    other.note(changes);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), builder_.delta(store_).service_ports.size());
    store_.apply(model::Upsert{test::slice("a-x", {{"10.180.0.1", "N"}}, "a")});
    changes = store_.take_changes(Family::ipv4);
    builder_.note(changes);
    other.note(changes);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), builder_.delta(store_).service_ports.size());
    CPPUNIT_ASSERT(other.delta(store_).empty());  // the change was reverted
  }

  void pending_changes_use_bounded_memory() {
    store::Changes changes;
    changes.dirty = changes.services = {test::object("ns1", "a")};
    changes.slices = 2;
    changes.triggers.resize(40'000);
    builder_.note(changes);
    builder_.note(changes);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), builder_.pending_services(store_));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(4), builder_.pending_slice_changes(store_));
    CPPUNIT_ASSERT_EQUAL(kMostTriggerTimes, builder_.delta(store_).trigger_times.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), builder_.pending_services(store_));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), builder_.pending_slice_changes(store_));
    CPPUNIT_ASSERT(builder_.delta(store_).trigger_times.empty());
  }

  void pending_services_are_counted_once() {
    add("a");
    builder_.note(store_.take_changes(Family::ipv4));
    auto again = test::service("a");
    again.affinity_seconds = 7;
    store_.apply(model::Upsert{again});
    add("b");
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), builder_.pending_services(store_));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), builder_.pending_slice_changes(store_));
  }

  // A new subscription must not report latencies of changes before it.
  void new_subscription_omits_earlier_trigger_times() {
    add("a");
    store::Changes changes = store_.take_changes(Family::ipv4);
    changes.triggers.resize(1);
    builder_.note(changes);
    Builder other = builder_.for_new_subscription({});
    builder_.note(changes);
    other.note(changes);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), builder_.full(store_).trigger_times.size());
    const auto all = other.full(store_);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), all.trigger_times.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), all.service_ports.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(BuilderTest);

}  // namespace builder_test
}  // namespace sluice::snapshot
