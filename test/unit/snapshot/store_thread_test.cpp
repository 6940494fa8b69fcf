// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tests delivery of ServiceCIDRs, and several subscriptions at once.
#include "core/snapshot/store_thread.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <set>

#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/store/fixtures.hpp"

namespace sluice::snapshot {
namespace store_thread_test {

using namespace std::chrono_literals;
using lib::Family;
using model::ResourceKind;

constexpr auto kTestTimeout = 60s;

model::ServiceCidr object(const std::string& cidr) { return {"a", {lib::IpPrefix::parse(cidr).value()}}; }

// A store thread of one family whose notifications can be awaited.
class StoreHarness {
 public:
  explicit StoreHarness(bool service_cidrs, lib::Clock::Duration service_cidr_timeout = kTestTimeout)
      : thread_("N", {[this](Family, const std::optional<model::Node>&, SettingsStage of) {
                  NodeFacts facts;
                  facts.masquerade_all = of == SettingsStage::pending ? pending_ : running_;
                  return std::optional(facts);
                }}) {
    subscription_ = open();
    thread_.start({.families = {Family::ipv4},
                   .options = {.service_cidrs = service_cidrs},
                   .service_cidr_timeout = service_cidr_timeout});
  }

  SubscriptionId open() {
    return thread_.subscribe(Family::ipv4, [this](const model::Namespaces&) {
      const std::lock_guard lock(mutex_);
      ++notifications_;
      changed_.notify_all();
    });
  }

  void list(ResourceKind kind, std::optional<model::ServiceCidr> content = {}) {
    thread_.deliver(model::ListBegin{kind});
    if (content) thread_.deliver(model::Upsert{*content});
    thread_.deliver(model::ListEnd{kind});
  }
  void list_other_resources() {
    for (const auto kind : {ResourceKind::service, ResourceKind::endpoint_slice, ResourceKind::node}) list(kind);
  }
  void await(int count) {
    std::unique_lock lock(mutex_);
    CPPUNIT_ASSERT(changed_.wait_for(lock, test::stretched(kTestTimeout), [&] { return notifications_ >= count; }));
  }
  // Returns the number of notifications after all delivered events were handled.
  int notifications() {
    for (int i = 0; i < 2; ++i) thread_.status();  // after the second answer, the batch of the first one has ended
    const std::lock_guard lock(mutex_);
    return notifications_;
  }
  // Takes a delta: the version of the node facts and the ServiceCIDRs, or "nothing".
  std::string take() {
    const auto taken = thread_.take(subscription_, false);
    if (!taken) return "nothing";
    std::string out = std::to_string(taken->node_version);
    for (const auto& range : taken->node->service_cidrs) out += " " + range.to_string();
    return taken->empty() ? "empty" : out;
  }
  void deliver(model::Event event) { thread_.deliver(std::move(event)); }
  // Takes the next transaction: "full" or "delta", names of service ports with their number of endpoints, "-name" for
  // removed ones.
  std::string take(SubscriptionId subscription, bool full = false) {
    const auto taken = thread_.take(subscription, full);
    if (!taken) return "nothing";
    std::string out = taken->full ? "full" : "delta";
    for (const auto& port : taken->service_ports) {
      out += " " + port->key.service.name + "/" + std::to_string(port->endpoints.size());
    }
    for (const auto& key : taken->removed) out += " -" + key.service.name;
    return taken->empty() ? "empty" : out;
  }
  // Adds or changes Service `name` with this number of endpoints.
  void put(const std::string& name, int endpoints = 0) {
    auto service = test::service(name);
    // Each Service has its own cluster IP.
    service.cluster_ips = {
        *lib::IpAddress::parse("172.30.1." + std::to_string(static_cast<unsigned char>(name.at(0))))};
    deliver(model::Upsert{service});
    std::vector<test::EndpointSpec> all;
    for (int i = 1; i <= endpoints; ++i) all.push_back({"10.180.0." + std::to_string(i)});
    auto slice = test::slice(name + "-x", all, name);
    slice.trigger_time = std::chrono::system_clock::now() + 1h;
    deliver(model::Upsert{slice});
  }
  void remove(const std::string& name) {
    deliver(model::Remove{ResourceKind::service, test::object("ns1", name)});
  }
  // Describes all Services after all delivered events: the generation, then each service port with its progress unless
  // delivered.
  std::string described(
      SubscriptionId subscription, std::function<bool()> wanted = [] { return true; }) {
    std::promise<std::string> described;
    auto answer = described.get_future();
    DescribeRequest request;
    request.may_want = [](const model::ObjectName&) { return true; };
    request.wants = [](const store::ExplainedPort&, const NodeFacts*) { return true; };
    request.not_proxied = true;
    request.wanted = std::move(wanted);
    request.done = [&](const Description& description) {
      static const char* const kWords[] = {"", "~", "+", "-"};
      std::string out = std::to_string(description.generation);
      for (const auto& port : description.ports) {
        out += std::string(" ") + kWords[int(port.progress)] + port.explained.port.key.service.name;
      }
      for (const auto& one : description.not_proxied) out += " !" + one.name.name;
      described.set_value(out);
    };
    thread_.describe(subscription, std::move(request));
    for (int i = 0; i < 2; ++i) thread_.status();  // each batch takes one step
    return answer.wait_for(0s) == std::future_status::ready ? answer.get() : "dropped";
  }
  StoreThread& thread() { return thread_; }
  SubscriptionId subscription() const { return subscription_; }

  void close(SubscriptionId subscription) { thread_.unsubscribe(subscription); }
  SubscriptionId open_pending() {
    return thread_.subscribe(
        Family::ipv4, [](const model::Namespaces&) {}, SettingsStage::pending);
  }
  void set(bool running, bool pending) {
    running_ = running;
    pending_ = pending;
  }
  void refresh() { thread_.refresh_node_facts(); }
  void promote_pending_settings() { thread_.promote_pending_settings(); }
  // Takes a transaction: "full yes" or "delta no" with the value of masquerade_all, or "empty".
  std::string facts(SubscriptionId subscription, bool full = false) {
    const auto taken = thread_.take(subscription, full);
    if (!taken) return "nothing";
    if (taken->empty()) return "empty";
    return std::string(taken->full ? "full " : "delta ") + (taken->node->masquerade_all ? "yes" : "no");
  }

 private:
  std::atomic<bool> running_{false};  // masquerade_all of the running and the pending settings
  std::atomic<bool> pending_{false};
  test::CapturedLog log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int notifications_ = 0;  // under mutex_
  SubscriptionId subscription_ = 0;
  StoreThread thread_;
};

class StoreThreadTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StoreThreadTest);
  CPPUNIT_TEST(service_cidrs_change_the_node_version);
  CPPUNIT_TEST(first_transaction_waits_for_service_cidrs);
  CPPUNIT_TEST(wait_for_service_cidrs_has_a_timeout);
  CPPUNIT_TEST(unused_service_cidrs_are_not_awaited);
  CPPUNIT_TEST(service_cidrs_enabled_at_runtime_are_delivered);
  CPPUNIT_TEST(two_subscriptions_receive_the_same_changes);
  CPPUNIT_TEST(late_subscription_receives_full_then_deltas);
  CPPUNIT_TEST(subscription_after_unsubscribe_starts_with_full);
  CPPUNIT_TEST(subscription_waits_for_initial_lists);
  CPPUNIT_TEST(subscription_waits_for_lists_with_its_details);
  CPPUNIT_TEST(services_are_described_with_their_progress);
  CPPUNIT_TEST(long_description_does_not_block_requests);
  CPPUNIT_TEST(closed_subscription_receives_nothing);
  CPPUNIT_TEST(unsubscribe_waits_for_a_running_callback);
  CPPUNIT_TEST(trigger_times_reach_every_subscription);
  CPPUNIT_TEST(status_is_empty_before_start);
  CPPUNIT_TEST(statistics_are_those_of_the_oldest_subscription);
  CPPUNIT_TEST(objects_are_accepted_before_the_families_are_known);
  CPPUNIT_TEST(published_status_does_not_wait_for_a_batch);
  CPPUNIT_TEST(status_is_published_before_take_returns);
  CPPUNIT_TEST(options_take_effect_at_runtime);
  CPPUNIT_TEST(subscription_receives_facts_of_pending_settings);
  CPPUNIT_TEST(abandoned_pending_settings_have_no_effect);
  CPPUNIT_TEST(take_returns_null_after_stop);
  CPPUNIT_TEST_SUITE_END();

  void status_is_empty_before_start() {
    std::atomic<int> computed{0};
    StoreThread store("N", {[&](Family, const std::optional<model::Node>&, SettingsStage) {
                        ++computed;
                        return std::optional(NodeFacts());
                      }});
    store.refresh_node_facts();  // has no effect yet
    CPPUNIT_ASSERT(!store.status().synced && !store.published().synced);
    store.start({.families = {Family::ipv4}});
    CPPUNIT_ASSERT(!store.status().synced);
    CPPUNIT_ASSERT_EQUAL(1, computed.load());
  }

  // The source lists while the backend is probed.
  void objects_are_accepted_before_the_families_are_known() {
    std::atomic<int> computed{0};
    StoreThread store("N", {[&](Family, const std::optional<model::Node>&, SettingsStage) {
                        ++computed;
                        return std::optional(NodeFacts());
                      }});
    store.start({});
    for (const auto kind : {ResourceKind::service, ResourceKind::endpoint_slice, ResourceKind::node}) {
      store.deliver(model::ListBegin{kind});
      if (kind == ResourceKind::service) store.deliver(model::Upsert{test::service("a")});
      store.deliver(model::ListEnd{kind});
    }
    store.refresh_node_facts();
    const StoreStatus before = store.status();
    CPPUNIT_ASSERT(before.synced && !before.facts_known);
    CPPUNIT_ASSERT_EQUAL(0, computed.load());
    store.set_families({Family::ipv4});
    CPPUNIT_ASSERT(store.status().facts_known);
    std::promise<void> notified;
    const SubscriptionId subscription =
        store.subscribe(Family::ipv4, [&](const model::Namespaces&) { notified.set_value(); });
    notified.get_future().wait();
    const auto all = store.take(subscription, false);
    CPPUNIT_ASSERT(all && all->full);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), store.status().services);
  }

  // A source that lists a large cluster fills the queue. Status requests and scrapes must not wait for it.
  void published_status_does_not_wait_for_a_batch() {
    std::mutex mutex;
    std::condition_variable changed;
    int asked = 0;
    bool released = false;
    StoreThread store("N", {[&](Family, const std::optional<model::Node>&, SettingsStage) {
                        std::unique_lock lock(mutex);
                        ++asked;
                        changed.notify_all();
                        changed.wait(lock, [&] { return released || asked == 1; });
                        return std::optional(NodeFacts());
                      }});
    store.start({.families = {Family::ipv4}});
    store.deliver(model::ListBegin{ResourceKind::service});
    store.deliver(model::Upsert{test::service("a")});
    store.deliver(model::ListEnd{ResourceKind::service});
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), store.status().services);
    store.refresh_node_facts();
    std::unique_lock lock(mutex);
    const bool held = changed.wait_for(lock, test::stretched(kTestTimeout), [&] { return asked == 2; });
    lock.unlock();
    store.deliver(model::Upsert{test::service("b")});
    auto answer = std::async(std::launch::async, [&] { return store.published(); });
    const auto answered = answer.wait_for(test::stretched(kTestTimeout));
    lock.lock();
    released = true;
    changed.notify_all();
    lock.unlock();
    CPPUNIT_ASSERT(held);
    CPPUNIT_ASSERT(answered == std::future_status::ready);
    const StoreStatus before = answer.get();
    CPPUNIT_ASSERT(before.facts_known && before.services == 1);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), store.status().services);
    CPPUNIT_ASSERT(test::wait_until([&] { return store.published().services == 2; }));
  }

  void status_is_published_before_take_returns() {
    StoreHarness harness(false);
    harness.list_other_resources();
    harness.await(1);
    for (const int services : {1, 2, 3}) {
      harness.put("s" + std::to_string(services), 1);
      harness.await(services + 1);
      harness.take(harness.subscription());
      const StoreStatus now = harness.thread().published();
      CPPUNIT_ASSERT_EQUAL(static_cast<std::size_t>(services), now.service_ports[0]);
      CPPUNIT_ASSERT_EQUAL(static_cast<std::size_t>(services), now.services);
      CPPUNIT_ASSERT(now.synced && now.facts_known);
    }
  }

  void service_cidrs_change_the_node_version() {
    StoreHarness harness(true);
    harness.list(ResourceKind::service_cidr, object("172.30.0.0/16"));
    harness.list_other_resources();
    harness.await(1);
    CPPUNIT_ASSERT_EQUAL(std::string("2 172.30.0.0/16"), harness.take());
    harness.deliver(model::Upsert{object("172.30.0.0/16")});
    CPPUNIT_ASSERT_EQUAL(1, harness.notifications());
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.take());
    harness.deliver(model::Upsert{object("172.31.0.0/16")});
    harness.await(2);
    CPPUNIT_ASSERT_EQUAL(std::string("3 172.31.0.0/16"), harness.take());
    harness.deliver(model::Upsert{object("fd00::/112")});  // for this family only a removal
    harness.await(3);
    CPPUNIT_ASSERT_EQUAL(std::string("4"), harness.take());
    harness.deliver(model::Remove{ResourceKind::service_cidr, {base::Symbol(), "a"}});
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.take());
  }

  void first_transaction_waits_for_service_cidrs() {
    StoreHarness harness(true);
    harness.list_other_resources();
    CPPUNIT_ASSERT_EQUAL(0, harness.notifications());
    CPPUNIT_ASSERT_EQUAL(std::string("nothing"), harness.take());
    harness.list(ResourceKind::service_cidr, object("172.30.0.0/16"));
    harness.await(1);
    CPPUNIT_ASSERT_EQUAL(std::string("2 172.30.0.0/16"), harness.take());
  }

  void wait_for_service_cidrs_has_a_timeout() {
    StoreHarness harness(true, 1ms);
    harness.list_other_resources();
    harness.await(1);
    CPPUNIT_ASSERT_EQUAL(std::string("1"), harness.take());
    harness.list(ResourceKind::service_cidr, object("172.30.0.0/16"));
    harness.await(2);
    CPPUNIT_ASSERT_EQUAL(std::string("2 172.30.0.0/16"), harness.take());
  }

  void unused_service_cidrs_are_not_awaited() {
    StoreHarness harness(false);
    harness.list_other_resources();
    harness.await(1);
    CPPUNIT_ASSERT_EQUAL(std::string("1"), harness.take());
    harness.list(ResourceKind::service_cidr, object("172.30.0.0/16"));
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.take());
    CPPUNIT_ASSERT_EQUAL(1, harness.notifications());
  }

  void service_cidrs_enabled_at_runtime_are_delivered() {
    StoreHarness harness(false);
    harness.list_other_resources();
    CPPUNIT_ASSERT_EQUAL(std::string("1"), harness.take());
    harness.thread().set_options({.service_cidrs = true});
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.take());  // does not wait for ServiceCIDRs
    harness.put("a");
    CPPUNIT_ASSERT_EQUAL(std::string("delta a/0"), harness.take(harness.subscription()));
    harness.list(ResourceKind::service_cidr, object("172.30.0.0/16"));
    CPPUNIT_ASSERT_EQUAL(std::string("2 172.30.0.0/16"), harness.take());
    harness.thread().set_options({});
    CPPUNIT_ASSERT_EQUAL(std::string("3"), harness.take());
    harness.thread().set_options({});
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.take());
  }

  void two_subscriptions_receive_the_same_changes() {
    StoreHarness harness(false);
    const SubscriptionId a = harness.subscription();
    const SubscriptionId b = harness.open();
    CPPUNIT_ASSERT(a != b && a != 0 && b != 0);
    harness.list_other_resources();
    harness.put("cart", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/1"), harness.take(a, true));
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/1"), harness.take(b, true));
    harness.put("cart", 2);
    CPPUNIT_ASSERT_EQUAL(std::string("delta cart/2"), harness.take(a));
    CPPUNIT_ASSERT_EQUAL(std::string("delta cart/2"), harness.take(b));
    harness.put("shop", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("delta shop/1"), harness.take(b));
    harness.remove("cart");
    CPPUNIT_ASSERT_EQUAL(std::string("delta -cart"), harness.take(b));
    CPPUNIT_ASSERT_EQUAL(std::string("delta shop/1 -cart"), harness.take(a));
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.take(a));
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.take(b));
    harness.thread().refresh_node_facts();
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.take(b));
  }

  void late_subscription_receives_full_then_deltas() {
    StoreHarness harness(false);
    harness.list_other_resources();
    harness.put("cart", 1);
    harness.take(harness.subscription());
    harness.put("shop", 1);  // pending for the first subscription
    const int before = harness.notifications();
    const SubscriptionId late = harness.open();
    CPPUNIT_ASSERT(harness.notifications() > before);
    CPPUNIT_ASSERT_EQUAL(std::string("0 +cart +shop"), harness.described(late));
    // The first transaction is full even if a delta is requested.
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/1 shop/1"), harness.take(late, false));
    harness.put("cart", 2);
    CPPUNIT_ASSERT_EQUAL(std::string("delta cart/2"), harness.take(late));
    CPPUNIT_ASSERT_EQUAL(std::string("delta cart/2 shop/1"), harness.take(harness.subscription()));
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/2 shop/1"), harness.take(harness.subscription(), true));
  }

  // An empty cluster needs the static rules.
  void subscription_after_unsubscribe_starts_with_full() {
    StoreHarness harness(false);
    harness.list_other_resources();
    harness.take(harness.subscription());
    harness.thread().unsubscribe(harness.subscription());
    const int before = harness.notifications();
    const SubscriptionId empty = harness.open();
    CPPUNIT_ASSERT(harness.notifications() > before);
    CPPUNIT_ASSERT_EQUAL(std::string("full"), harness.take(empty));
    const int taken = harness.notifications();
    CPPUNIT_ASSERT_EQUAL(taken, harness.notifications());
    harness.thread().unsubscribe(empty);
    harness.put("cart", 1);
    harness.put("gone", 1);
    harness.remove("gone");
    const SubscriptionId next = harness.open();
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/1"), harness.take(next, true));
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.take(next));
  }

  void subscription_waits_for_initial_lists() {
    StoreHarness harness(false);
    const SubscriptionId second = harness.open();
    CPPUNIT_ASSERT_EQUAL(0, harness.notifications());
    CPPUNIT_ASSERT_EQUAL(std::string("nothing"), harness.take(second, true));
    harness.list_other_resources();
    CPPUNIT_ASSERT(harness.notifications() >= 2);
    CPPUNIT_ASSERT_EQUAL(std::string("full"), harness.take(second, true));
  }

  void services_are_described_with_their_progress() {
    StoreHarness harness(false);
    harness.list_other_resources();
    harness.put("a", 1);
    harness.put("b", 1);
    harness.put("c", 1);
    harness.take(harness.subscription());
    CPPUNIT_ASSERT_EQUAL(std::string("1 a b c"), harness.described(harness.subscription()));
    harness.put("b", 2);
    harness.remove("c");
    harness.put("d", 1);
    auto headless = test::service("e");
    headless.headless = true;
    harness.deliver(model::Upsert{headless});
    CPPUNIT_ASSERT_EQUAL(std::string("1 a ~b -c +d !e"), harness.described(harness.subscription()));
    harness.take(harness.subscription());
    CPPUNIT_ASSERT_EQUAL(std::string("2 a b d !e"), harness.described(harness.subscription()));
    CPPUNIT_ASSERT_EQUAL(std::string("dropped"), harness.described(harness.subscription(), [] { return false; }));
  }

  // One step of a description is 64 Services. The thread handles other requests in between.
  void long_description_does_not_block_requests() {
    StoreHarness harness(false);
    harness.list_other_resources();
    for (int i = 0; i < 1000; ++i) harness.put("s" + std::to_string(i));
    harness.take(harness.subscription());
    std::promise<std::size_t> described;
    std::promise<void> begun, go_on, asked;
    auto answered = asked.get_future();
    int calls = 0;
    bool answered_in_between = false;
    DescribeRequest request;
    request.may_want = [&](const model::ObjectName&) {
      ++calls;
      if (calls == 1) {
        begun.set_value();
        go_on.get_future().wait();
      }
      if (calls == 500)
        answered_in_between = answered.wait_for(test::stretched(kTestTimeout)) == std::future_status::ready;
      return true;
    };
    request.wants = [](const store::ExplainedPort&, const NodeFacts*) { return true; };
    request.wanted = [] { return true; };
    request.done = [&](const Description& description) { described.set_value(description.ports.size()); };
    harness.thread().describe(harness.subscription(), std::move(request));
    begun.get_future().wait();
    std::thread other([&] {
      harness.thread().status();
      asked.set_value();
    });
    // The status request waits in the queue during the first step.
    while (harness.thread().statistics().queue_length == 0) std::this_thread::yield();
    go_on.set_value();
    const std::size_t ports = described.get_future().get();
    other.join();
    harness.thread().status();  // the store thread no longer uses variables of this function
    CPPUNIT_ASSERT_EQUAL(std::size_t(1000), ports);
    CPPUNIT_ASSERT(answered_in_between);
  }

  void subscription_waits_for_lists_with_its_details() {
    StoreHarness harness(false);
    harness.list_other_resources();
    harness.put("cart", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/1"), harness.take(harness.subscription()));
    std::atomic<int> notified{0};
    const SubscriptionId other = harness.thread().subscribe(
        Family::ipv4, [&](const model::Namespaces&) { ++notified; }, SettingsStage::running, test::all_details());
    CPPUNIT_ASSERT_EQUAL(std::string("nothing"), harness.take(other));
    for (const auto kind : {ResourceKind::service, ResourceKind::endpoint_slice}) {
      CPPUNIT_ASSERT(!harness.thread().status().has_details(test::all_details()));
      CPPUNIT_ASSERT_EQUAL(0, (harness.notifications(), notified.load()));
      harness.deliver(model::ListBegin{kind});
      if (kind == ResourceKind::service) {
        auto cart = test::service("cart");
        cart.cluster_ips = {*lib::IpAddress::parse("172.30.1.99")};
        harness.deliver(model::Upsert{test::with_details(cart)});
      } else {
        harness.deliver(
            model::Upsert{test::with_pods(test::slice("cart-x", {{"10.180.0.1"}}, "cart"), {"pod"})});
      }
      harness.deliver(model::ListEnd{kind, test::wanted(test::all_details())});
    }
    CPPUNIT_ASSERT(harness.thread().status().has_details(test::all_details()));
    harness.notifications();
    CPPUNIT_ASSERT(notified > 0);
    const auto taken = harness.thread().take(other, false);
    CPPUNIT_ASSERT(taken->full);
    CPPUNIT_ASSERT_EQUAL(std::string("pod"), taken->service_ports.at(0)->details->endpoints.at(0).pod->name);
    CPPUNIT_ASSERT_EQUAL(std::string("2 cart"), harness.described(other));  // nothing is pending
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.take(harness.subscription()));  // nothing it has has changed
    harness.list_other_resources();  // later lists without details do not stop it
    CPPUNIT_ASSERT_EQUAL(std::string("delta -cart"), harness.take(other));
    harness.close(other);
    harness.notifications();
  }

  void closed_subscription_receives_nothing() {
    StoreHarness harness(false);
    harness.list_other_resources();
    harness.put("cart", 1);
    const SubscriptionId other = harness.open();
    harness.take(other);
    harness.take(harness.subscription());
    harness.thread().unsubscribe(harness.subscription());
    harness.thread().unsubscribe(harness.subscription());  // has no effect
    harness.thread().unsubscribe(4711);
    CPPUNIT_ASSERT_EQUAL(std::string("nothing"), harness.take(harness.subscription()));
    CPPUNIT_ASSERT_EQUAL(std::string("dropped"), harness.described(harness.subscription()));
    CPPUNIT_ASSERT_EQUAL(std::string("1 cart"), harness.described(other));
    const int before = harness.notifications();
    harness.put("shop", 1);
    CPPUNIT_ASSERT(harness.notifications() > before);
    CPPUNIT_ASSERT_EQUAL(std::string("delta shop/1"), harness.take(other));
    harness.thread().unsubscribe(other);
    const int last = harness.notifications();
    harness.put("shop", 2);
    CPPUNIT_ASSERT_EQUAL(last, harness.notifications());
  }

  // After unsubscribing, the caller may destroy the objects that the callback uses.
  void unsubscribe_waits_for_a_running_callback() {
    StoreHarness harness(false);
    harness.list_other_resources();
    std::promise<void> entered, go_on;
    std::atomic<bool> left{false};
    std::atomic<int> calls{0};
    const SubscriptionId subscription = harness.thread().subscribe(Family::ipv4, [&](const model::Namespaces&) {
      if (++calls > 1) return;
      entered.set_value();
      go_on.get_future().wait();
      left = true;
    });
    entered.get_future().wait();
    std::promise<void> begun;
    auto closed = std::async(std::launch::async, [&] {
      begun.set_value();
      harness.thread().unsubscribe(subscription);
      return left.load();
    });
    begun.get_future().wait();
    CPPUNIT_ASSERT(closed.wait_for(50ms) == std::future_status::timeout);  // fixed time: it does not return
    go_on.set_value();
    CPPUNIT_ASSERT(closed.get());
    const int so_far = calls;
    harness.put("cart", 1);
    harness.notifications();
    CPPUNIT_ASSERT_EQUAL(so_far, calls.load());
  }

  void trigger_times_reach_every_subscription() {
    StoreHarness harness(false);
    const SubscriptionId other = harness.open();
    harness.list_other_resources();
    harness.take(other);
    harness.take(harness.subscription());
    harness.put("cart", 1);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), harness.thread().take(other, false)->trigger_times.size());
    const SubscriptionId late = harness.open();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), harness.thread().take(harness.subscription(), false)->trigger_times.size());
    CPPUNIT_ASSERT(harness.thread().take(other, false)->trigger_times.empty());
    CPPUNIT_ASSERT(harness.thread().take(late, true)->trigger_times.empty());
  }

  void statistics_are_those_of_the_oldest_subscription() {
    StoreHarness harness(false);
    const SubscriptionId other = harness.open();
    harness.list_other_resources();
    harness.put("cart", 1);
    const auto statistics = [&] {
      harness.notifications();
      return harness.thread().statistics();
    };
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), statistics().pending_services[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), statistics().pending_slice_changes[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), statistics().service_ports[0]);
    harness.take(other);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), statistics().pending_services[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), statistics().pending_slice_changes[0]);
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), harness.thread().status().service_ports[0]);
    harness.take(harness.subscription());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), statistics().pending_services[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), statistics().pending_slice_changes[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), statistics().service_ports[0]);
    harness.put("shop", 1);
    harness.take(harness.subscription());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), statistics().pending_services[0]);
    harness.thread().unsubscribe(harness.subscription());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), statistics().pending_services[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), statistics().service_ports[0]);
    harness.thread().unsubscribe(other);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), statistics().service_ports[0]);
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), harness.thread().status().service_ports[0]);
  }

  void options_take_effect_at_runtime() {
    StoreHarness harness(false);
    harness.list_other_resources();
    auto service = test::service("cart");
    service.external_ips = {*lib::IpAddress::parse("192.0.2.7")};
    harness.deliver(model::Upsert{service});
    harness.put("shop");
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/0 shop/0"), harness.take(harness.subscription()));
    const int before = harness.notifications();
    harness.thread().set_options({.external_ips = false});
    CPPUNIT_ASSERT(harness.notifications() > before);
    const auto taken = harness.thread().take(harness.subscription(), false);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), taken->service_ports.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), taken->service_ports[0]->frontends.size());
    harness.thread().set_options({.external_ips = true});
    CPPUNIT_ASSERT_EQUAL(std::string("delta cart/0"), harness.take(harness.subscription()));
  }

  void subscription_receives_facts_of_pending_settings() {
    StoreHarness harness(false);
    harness.list_other_resources();
    const SubscriptionId old = harness.open();
    CPPUNIT_ASSERT_EQUAL(std::string("full no"), harness.facts(old, true));
    harness.set(false, true);
    const SubscriptionId new_backend = harness.open_pending();
    CPPUNIT_ASSERT_EQUAL(std::string("full yes"), harness.facts(new_backend, true));
    harness.refresh();
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.facts(old));
    // When the pending settings are applied, only the other subscriptions receive a change.
    harness.set(true, false);
    harness.promote_pending_settings();
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.facts(new_backend));
    CPPUNIT_ASSERT_EQUAL(std::string("delta yes"), harness.facts(old));
    harness.set(false, true);
    harness.refresh();
    CPPUNIT_ASSERT_EQUAL(std::string("delta no"), harness.facts(new_backend));
  }

  void abandoned_pending_settings_have_no_effect() {
    StoreHarness harness(false);
    harness.list_other_resources();
    const SubscriptionId old = harness.open();
    CPPUNIT_ASSERT_EQUAL(std::string("full no"), harness.facts(old, true));
    harness.set(false, true);
    harness.close(harness.open_pending());
    harness.refresh();
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.facts(old));
    CPPUNIT_ASSERT_EQUAL(std::string("full yes"), harness.facts(harness.open_pending(), true));
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), harness.facts(old));
  }

  void take_returns_null_after_stop() {
    StoreHarness harness(false);
    harness.list_other_resources();
    harness.thread().stop();
    CPPUNIT_ASSERT_EQUAL(std::string("nothing"), harness.take(harness.subscription(), true));
    const SubscriptionId late = harness.open();
    CPPUNIT_ASSERT_EQUAL(std::string("nothing"), harness.take(late, true));
    harness.thread().unsubscribe(late);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(StoreThreadTest);

}  // namespace store_thread_test
}  // namespace sluice::snapshot
