// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// ServiceCIDRs on their way to the backend, and several backends that are told at once.
#include "core/snapshot/store_thread.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <set>

#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/store/fixtures.hpp"

namespace sluice::snapshot {
namespace store_thread_test {

using namespace std::chrono_literals;
using base::Family;
using model::ResourceKind;

constexpr auto kGenerous = 60s;

model::ServiceCidr object(const std::string& cidr) { return {"a", {base::IpPrefix::parse(cidr).value()}}; }

// A store thread of one family whose announcements can be waited for.
class World {
 public:
  explicit World(bool service_cidrs, base::Clock::Duration patience = kGenerous)
      : thread_("N", {Family::ipv4},
                {[this](Family, const std::optional<model::Node>&, FactsOf of) {
                  NodeFacts facts;
                  facts.masquerade_all = of == FactsOf::coming ? coming_ : in_force_;
                  return std::optional(facts);
                }},
                {.service_cidrs = service_cidrs}, patience) {
    feed_ = open();
    thread_.start();
  }

  FeedId open() {
    return thread_.open_feed(Family::ipv4, [this](const model::Namespaces&) {
      const std::lock_guard lock(mutex_);
      ++announced_;
      changed_.notify_all();
    });
  }

  void list(ResourceKind kind, std::optional<model::ServiceCidr> content = {}) {
    thread_.deliver(model::ListBegin{kind});
    if (content) thread_.deliver(model::Upsert{*content});
    thread_.deliver(model::ListEnd{kind});
  }
  void list_the_rest() {
    for (const auto kind : {ResourceKind::service, ResourceKind::endpoint_slice, ResourceKind::node}) list(kind);
  }
  void await(int announcements) {
    std::unique_lock lock(mutex_);
    CPPUNIT_ASSERT(changed_.wait_for(lock, test::stretched(kGenerous), [&] { return announced_ >= announcements; }));
  }
  // Everything delivered has been dealt with, and announced.
  int announced() {
    for (int i = 0; i < 2; ++i) thread_.status();  // after the second answer the batch of the first one is over
    const std::lock_guard lock(mutex_);
    return announced_;
  }
  // The next delta, its version of the facts and its ranges; "nothing" when there is none.
  std::string take() {
    const auto taken = thread_.take(feed_, false);
    if (!taken) return "nothing";
    std::string out = std::to_string(taken->node_version);
    for (const auto& range : taken->node->service_cidrs) out += " " + range.to_string();
    return taken->empty() ? "empty" : out;
  }
  void deliver(model::Event event) { thread_.deliver(std::move(event)); }
  // What `feed` is told next: "full" or "delta", names of service ports with the number of their endpoints, "-name" of
  // what is gone.
  std::string take(FeedId feed, bool full = false) {
    const auto taken = thread_.take(feed, full);
    if (!taken) return "nothing";
    std::string out = taken->full ? "full" : "delta";
    for (const auto& port : taken->service_ports) {
      out += " " + port->key.service.name + "/" + std::to_string(port->endpoints.size());
    }
    for (const auto& key : taken->removed) out += " -" + key.service.name;
    return taken->empty() ? "empty" : out;
  }
  // Service `name` with so many endpoints.
  void put(const std::string& name, int endpoints = 0) {
    auto service = test::service(name);
    // Each has one of its own, as the API server gives them out.
    service.cluster_ips = {
        *base::IpAddress::parse("172.30.1." + std::to_string(static_cast<unsigned char>(name.at(0))))};
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
  // What describe() says of all Services, after all that was delivered: the generation, then each service port with its
  // progress where it is not "given".
  std::string described(
      FeedId feed, std::function<bool()> wanted = [] { return true; }) {
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
        out += std::string(" ") + kWords[int(port.progress)] + port.is.port.key.service.name;
      }
      for (const auto& one : description.not_proxied) out += " !" + one.name.name;
      described.set_value(out);
    };
    thread_.describe(feed, std::move(request));
    for (int i = 0; i < 2; ++i) thread_.status();  // each batch takes one step
    return answer.wait_for(0s) == std::future_status::ready ? answer.get() : "dropped";
  }
  StoreThread& thread() { return thread_; }
  FeedId feed() const { return feed_; }

  void close(FeedId feed) { thread_.close_feed(feed); }
  FeedId open_coming() {
    return thread_.open_feed(
        Family::ipv4, [](const model::Namespaces&) {}, FactsOf::coming);
  }
  void set(bool in_force, bool coming) {
    in_force_ = in_force;
    coming_ = coming;
  }
  void refresh() { thread_.refresh_node_facts(); }
  void facts_have_come() { thread_.facts_have_come(); }
  // "full yes", "delta no": with the facts; "empty".
  std::string facts(FeedId feed, bool full = false) {
    const auto taken = thread_.take(feed, full);
    if (!taken) return "nothing";
    if (taken->empty()) return "empty";
    return std::string(taken->full ? "full " : "delta ") + (taken->node->masquerade_all ? "yes" : "no");
  }

 private:
  std::atomic<bool> in_force_{false};  // what masquerade_all is, by which settings
  std::atomic<bool> coming_{false};
  test::CapturedLog log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int announced_ = 0;  // under mutex_
  FeedId feed_ = 0;
  StoreThread thread_;
};

class StoreThreadTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StoreThreadTest);
  CPPUNIT_TEST(ranges_are_part_of_the_node_and_change_its_version);
  CPPUNIT_TEST(the_first_transaction_has_them_when_they_come_in_time);
  CPPUNIT_TEST(nobody_waits_for_longer_than_a_moment);
  CPPUNIT_TEST(where_they_are_of_no_use_nobody_waits);
  CPPUNIT_TEST(ranges_that_become_of_use_are_told_as_soon_as_they_are_known);
  CPPUNIT_TEST(two_feeds_are_told_the_same_in_any_order);
  CPPUNIT_TEST(a_feed_opened_later_is_told_everything_then_deltas);
  CPPUNIT_TEST(a_feed_without_another_begins_with_everything);
  CPPUNIT_TEST(a_feed_begins_when_everything_is_listed);
  CPPUNIT_TEST(services_are_described_with_their_progress);
  CPPUNIT_TEST(a_long_description_lets_others_through);
  CPPUNIT_TEST(a_closed_feed_is_told_nothing);
  CPPUNIT_TEST(closing_waits_for_the_announcement_under_way);
  CPPUNIT_TEST(trigger_times_reach_every_feed);
  CPPUNIT_TEST(before_its_start_a_store_has_an_empty_status);
  CPPUNIT_TEST(figures_are_those_of_the_oldest_feed);
  CPPUNIT_TEST(what_is_published_waits_for_no_batch);
  CPPUNIT_TEST(what_is_taken_is_published_before);
  CPPUNIT_TEST(options_take_effect_while_it_runs);
  CPPUNIT_TEST(a_feed_is_told_the_facts_that_are_to_come);
  CPPUNIT_TEST(facts_that_never_come_leave_nothing);
  CPPUNIT_TEST(nothing_is_taken_once_it_has_stopped);
  CPPUNIT_TEST_SUITE_END();

  void before_its_start_a_store_has_an_empty_status() {
    StoreThread store("N", {Family::ipv4},
                      {[](Family, const std::optional<model::Node>&, FactsOf) { return std::optional(NodeFacts()); }});
    CPPUNIT_ASSERT(!store.status().synced && !store.published().synced);
    store.start();
    CPPUNIT_ASSERT(!store.status().synced);
  }

  // A source that lists a large cluster fills the queue: status and scrapes are asked meanwhile.
  void what_is_published_waits_for_no_batch() {
    std::mutex mutex;
    std::condition_variable changed;
    int asked = 0;
    bool released = false;
    StoreThread store("N", {Family::ipv4}, {[&](Family, const std::optional<model::Node>&, FactsOf) {
                        std::unique_lock lock(mutex);
                        ++asked;
                        changed.notify_all();
                        changed.wait(lock, [&] { return released || asked == 1; });
                        return std::optional(NodeFacts());
                      }});
    store.start();
    store.deliver(model::ListBegin{ResourceKind::service});
    store.deliver(model::Upsert{test::service("a")});
    store.deliver(model::ListEnd{ResourceKind::service});
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), store.status().services);
    store.refresh_node_facts();
    std::unique_lock lock(mutex);
    const bool held = changed.wait_for(lock, test::stretched(kGenerous), [&] { return asked == 2; });
    lock.unlock();
    store.deliver(model::Upsert{test::service("b")});
    auto answer = std::async(std::launch::async, [&] { return store.published(); });
    const auto answered = answer.wait_for(test::stretched(kGenerous));
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

  void what_is_taken_is_published_before() {
    World world(false);
    world.list_the_rest();
    world.await(1);
    for (const int services : {1, 2, 3}) {
      world.put("s" + std::to_string(services), 1);
      world.await(services + 1);
      world.take(world.feed());
      const StoreStatus now = world.thread().published();
      CPPUNIT_ASSERT_EQUAL(static_cast<std::size_t>(services), now.service_ports[0]);
      CPPUNIT_ASSERT_EQUAL(static_cast<std::size_t>(services), now.services);
      CPPUNIT_ASSERT(now.synced && now.facts_known);
    }
  }

  void ranges_are_part_of_the_node_and_change_its_version() {
    World world(true);
    world.list(ResourceKind::service_cidr, object("172.30.0.0/16"));
    world.list_the_rest();
    world.await(1);
    CPPUNIT_ASSERT_EQUAL(std::string("2 172.30.0.0/16"), world.take());
    world.deliver(model::Upsert{object("172.30.0.0/16")});
    CPPUNIT_ASSERT_EQUAL(1, world.announced());
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.take());
    world.deliver(model::Upsert{object("172.31.0.0/16")});
    world.await(2);
    CPPUNIT_ASSERT_EQUAL(std::string("3 172.31.0.0/16"), world.take());
    world.deliver(model::Upsert{object("fd00::/112")});  // no change for this family but for what went
    world.await(3);
    CPPUNIT_ASSERT_EQUAL(std::string("4"), world.take());
    world.deliver(model::Remove{ResourceKind::service_cidr, {base::Symbol(), "a"}});
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.take());
  }

  void the_first_transaction_has_them_when_they_come_in_time() {
    World world(true);
    world.list_the_rest();
    CPPUNIT_ASSERT_EQUAL(0, world.announced());
    CPPUNIT_ASSERT_EQUAL(std::string("nothing"), world.take());
    world.list(ResourceKind::service_cidr, object("172.30.0.0/16"));
    world.await(1);
    CPPUNIT_ASSERT_EQUAL(std::string("2 172.30.0.0/16"), world.take());
  }

  void nobody_waits_for_longer_than_a_moment() {
    World world(true, 1ms);
    world.list_the_rest();
    world.await(1);
    CPPUNIT_ASSERT_EQUAL(std::string("1"), world.take());
    world.list(ResourceKind::service_cidr, object("172.30.0.0/16"));
    world.await(2);
    CPPUNIT_ASSERT_EQUAL(std::string("2 172.30.0.0/16"), world.take());
  }

  void where_they_are_of_no_use_nobody_waits() {
    World world(false);
    world.list_the_rest();
    world.await(1);
    CPPUNIT_ASSERT_EQUAL(std::string("1"), world.take());
    world.list(ResourceKind::service_cidr, object("172.30.0.0/16"));
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.take());
    CPPUNIT_ASSERT_EQUAL(1, world.announced());
  }

  void ranges_that_become_of_use_are_told_as_soon_as_they_are_known() {
    World world(false);
    world.list_the_rest();
    CPPUNIT_ASSERT_EQUAL(std::string("1"), world.take());
    world.thread().set_options({.service_cidrs = true});
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.take());  // nothing waits for them
    world.put("a");
    CPPUNIT_ASSERT_EQUAL(std::string("delta a/0"), world.take(world.feed()));
    world.list(ResourceKind::service_cidr, object("172.30.0.0/16"));
    CPPUNIT_ASSERT_EQUAL(std::string("2 172.30.0.0/16"), world.take());
    world.thread().set_options({});
    CPPUNIT_ASSERT_EQUAL(std::string("3"), world.take());
    world.thread().set_options({});
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.take());
  }

  void two_feeds_are_told_the_same_in_any_order() {
    World world(false);
    const FeedId a = world.feed();
    const FeedId b = world.open();
    CPPUNIT_ASSERT(a != b && a != 0 && b != 0);
    world.list_the_rest();
    world.put("cart", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/1"), world.take(a, true));
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/1"), world.take(b, true));
    world.put("cart", 2);
    CPPUNIT_ASSERT_EQUAL(std::string("delta cart/2"), world.take(a));
    CPPUNIT_ASSERT_EQUAL(std::string("delta cart/2"), world.take(b));
    world.put("shop", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("delta shop/1"), world.take(b));
    world.remove("cart");
    CPPUNIT_ASSERT_EQUAL(std::string("delta -cart"), world.take(b));
    CPPUNIT_ASSERT_EQUAL(std::string("delta shop/1 -cart"), world.take(a));
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.take(a));
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.take(b));
    world.thread().refresh_node_facts();
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.take(b));
  }

  void a_feed_opened_later_is_told_everything_then_deltas() {
    World world(false);
    world.list_the_rest();
    world.put("cart", 1);
    world.take(world.feed());
    world.put("shop", 1);  // waits for the first feed
    const int before = world.announced();
    const FeedId late = world.open();
    CPPUNIT_ASSERT(world.announced() > before);
    CPPUNIT_ASSERT_EQUAL(std::string("0 +cart +shop"), world.described(late));
    // Whatever it asks for, it is told everything first.
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/1 shop/1"), world.take(late, false));
    world.put("cart", 2);
    CPPUNIT_ASSERT_EQUAL(std::string("delta cart/2"), world.take(late));
    CPPUNIT_ASSERT_EQUAL(std::string("delta cart/2 shop/1"), world.take(world.feed()));
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/2 shop/1"), world.take(world.feed(), true));
  }

  // An empty cluster has its static rules, too.
  void a_feed_without_another_begins_with_everything() {
    World world(false);
    world.list_the_rest();
    world.take(world.feed());
    world.thread().close_feed(world.feed());
    const int before = world.announced();
    const FeedId empty = world.open();
    CPPUNIT_ASSERT(world.announced() > before);
    CPPUNIT_ASSERT_EQUAL(std::string("full"), world.take(empty));
    const int taken = world.announced();
    CPPUNIT_ASSERT_EQUAL(taken, world.announced());
    world.thread().close_feed(empty);
    world.put("cart", 1);
    world.put("gone", 1);
    world.remove("gone");
    const FeedId next = world.open();
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/1"), world.take(next, true));
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.take(next));
  }

  void a_feed_begins_when_everything_is_listed() {
    World world(false);
    const FeedId second = world.open();
    CPPUNIT_ASSERT_EQUAL(0, world.announced());
    CPPUNIT_ASSERT_EQUAL(std::string("nothing"), world.take(second, true));
    world.list_the_rest();
    CPPUNIT_ASSERT(world.announced() >= 2);
    CPPUNIT_ASSERT_EQUAL(std::string("full"), world.take(second, true));
  }

  void services_are_described_with_their_progress() {
    World world(false);
    world.list_the_rest();
    world.put("a", 1);
    world.put("b", 1);
    world.put("c", 1);
    world.take(world.feed());
    CPPUNIT_ASSERT_EQUAL(std::string("1 a b c"), world.described(world.feed()));
    world.put("b", 2);
    world.remove("c");
    world.put("d", 1);
    auto headless = test::service("e");
    headless.headless = true;
    world.deliver(model::Upsert{headless});
    CPPUNIT_ASSERT_EQUAL(std::string("1 a ~b -c +d !e"), world.described(world.feed()));
    world.take(world.feed());
    CPPUNIT_ASSERT_EQUAL(std::string("2 a b d !e"), world.described(world.feed()));
    CPPUNIT_ASSERT_EQUAL(std::string("dropped"), world.described(world.feed(), [] { return false; }));
  }

  // One step of a description is 64 Services; the thread answers others in between.
  void a_long_description_lets_others_through() {
    World world(false);
    world.list_the_rest();
    for (int i = 0; i < 1000; ++i) world.put("s" + std::to_string(i));
    world.take(world.feed());
    std::promise<std::size_t> described;
    std::promise<void> begun, go_on, asked;
    auto answered = asked.get_future();
    int seen = 0;
    bool answered_meanwhile = false;
    DescribeRequest request;
    request.may_want = [&](const model::ObjectName&) {
      ++seen;
      if (seen == 1) {
        begun.set_value();
        go_on.get_future().wait();
      }
      if (seen == 500) answered_meanwhile = answered.wait_for(test::stretched(kGenerous)) == std::future_status::ready;
      return true;
    };
    request.wants = [](const store::ExplainedPort&, const NodeFacts*) { return true; };
    request.wanted = [] { return true; };
    request.done = [&](const Description& description) { described.set_value(description.ports.size()); };
    world.thread().describe(world.feed(), std::move(request));
    begun.get_future().wait();
    std::thread other([&] {
      world.thread().status();
      asked.set_value();
    });
    // The question waits in the queue while the first step is under way.
    while (world.thread().figures().queue_length == 0) std::this_thread::yield();
    go_on.set_value();
    const std::size_t ports = described.get_future().get();
    other.join();
    world.thread().status();  // the store thread has left what this function owns
    CPPUNIT_ASSERT_EQUAL(std::size_t(1000), ports);
    CPPUNIT_ASSERT(answered_meanwhile);
  }

  void a_closed_feed_is_told_nothing() {
    World world(false);
    world.list_the_rest();
    world.put("cart", 1);
    const FeedId other = world.open();
    world.take(other);
    world.take(world.feed());
    world.thread().close_feed(world.feed());
    world.thread().close_feed(world.feed());  // nobody's business any more
    world.thread().close_feed(4711);
    CPPUNIT_ASSERT_EQUAL(std::string("nothing"), world.take(world.feed()));
    CPPUNIT_ASSERT_EQUAL(std::string("dropped"), world.described(world.feed()));
    CPPUNIT_ASSERT_EQUAL(std::string("1 cart"), world.described(other));
    const int before = world.announced();
    world.put("shop", 1);
    CPPUNIT_ASSERT(world.announced() > before);
    CPPUNIT_ASSERT_EQUAL(std::string("delta shop/1"), world.take(other));
    world.thread().close_feed(other);
    const int last = world.announced();
    world.put("shop", 2);
    CPPUNIT_ASSERT_EQUAL(last, world.announced());
  }

  // Whoever has closed a feed may destroy what its announcement uses.
  void closing_waits_for_the_announcement_under_way() {
    World world(false);
    world.list_the_rest();
    std::promise<void> entered, go_on;
    std::atomic<bool> left{false};
    std::atomic<int> calls{0};
    const FeedId feed = world.thread().open_feed(Family::ipv4, [&](const model::Namespaces&) {
      if (++calls > 1) return;
      entered.set_value();
      go_on.get_future().wait();
      left = true;
    });
    entered.get_future().wait();
    std::promise<void> begun;
    auto closed = std::async(std::launch::async, [&] {
      begun.set_value();
      world.thread().close_feed(feed);
      return left.load();
    });
    begun.get_future().wait();
    CPPUNIT_ASSERT(closed.wait_for(50ms) == std::future_status::timeout);  // fixed time: it does not return
    go_on.set_value();
    CPPUNIT_ASSERT(closed.get());
    const int so_far = calls;
    world.put("cart", 1);
    world.announced();
    CPPUNIT_ASSERT_EQUAL(so_far, calls.load());
  }

  void trigger_times_reach_every_feed() {
    World world(false);
    const FeedId other = world.open();
    world.list_the_rest();
    world.take(other);
    world.take(world.feed());
    world.put("cart", 1);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), world.thread().take(other, false)->trigger_times.size());
    const FeedId late = world.open();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), world.thread().take(world.feed(), false)->trigger_times.size());
    CPPUNIT_ASSERT(world.thread().take(other, false)->trigger_times.empty());
    CPPUNIT_ASSERT(world.thread().take(late, true)->trigger_times.empty());
  }

  void figures_are_those_of_the_oldest_feed() {
    World world(false);
    const FeedId other = world.open();
    world.list_the_rest();
    world.put("cart", 1);
    const auto figures = [&] {
      world.announced();
      return world.thread().figures();
    };
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), figures().pending_services[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), figures().pending_slice_changes[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), figures().service_ports[0]);
    world.take(other);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), figures().pending_services[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), figures().pending_slice_changes[0]);
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), world.thread().status().service_ports[0]);
    world.take(world.feed());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), figures().pending_services[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), figures().pending_slice_changes[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), figures().service_ports[0]);
    world.put("shop", 1);
    world.take(world.feed());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), figures().pending_services[0]);
    world.thread().close_feed(world.feed());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), figures().pending_services[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), figures().service_ports[0]);
    world.thread().close_feed(other);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), figures().service_ports[0]);
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), world.thread().status().service_ports[0]);
  }

  void options_take_effect_while_it_runs() {
    World world(false);
    world.list_the_rest();
    auto service = test::service("cart");
    service.external_ips = {*base::IpAddress::parse("192.0.2.7")};
    world.deliver(model::Upsert{service});
    world.put("shop");
    CPPUNIT_ASSERT_EQUAL(std::string("full cart/0 shop/0"), world.take(world.feed()));
    const int before = world.announced();
    world.thread().set_options({.external_ips = false});
    CPPUNIT_ASSERT(world.announced() > before);
    const auto taken = world.thread().take(world.feed(), false);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), taken->service_ports.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), taken->service_ports[0]->frontends.size());
    world.thread().set_options({.external_ips = true});
    CPPUNIT_ASSERT_EQUAL(std::string("delta cart/0"), world.take(world.feed()));
  }

  void a_feed_is_told_the_facts_that_are_to_come() {
    World world(false);
    world.list_the_rest();
    const FeedId old = world.open();
    CPPUNIT_ASSERT_EQUAL(std::string("full no"), world.facts(old, true));
    world.set(false, true);
    const FeedId newcomer = world.open_coming();
    CPPUNIT_ASSERT_EQUAL(std::string("full yes"), world.facts(newcomer, true));
    world.refresh();
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.facts(old));
    // Once they are in force the newcomer learns nothing new, and the others learn them.
    world.set(true, false);
    world.facts_have_come();
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.facts(newcomer));
    CPPUNIT_ASSERT_EQUAL(std::string("delta yes"), world.facts(old));
    world.set(false, true);
    world.refresh();
    CPPUNIT_ASSERT_EQUAL(std::string("delta no"), world.facts(newcomer));
  }

  void facts_that_never_come_leave_nothing() {
    World world(false);
    world.list_the_rest();
    const FeedId old = world.open();
    CPPUNIT_ASSERT_EQUAL(std::string("full no"), world.facts(old, true));
    world.set(false, true);
    world.close(world.open_coming());
    world.refresh();
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.facts(old));
    CPPUNIT_ASSERT_EQUAL(std::string("full yes"), world.facts(world.open_coming(), true));
    CPPUNIT_ASSERT_EQUAL(std::string("empty"), world.facts(old));
  }

  void nothing_is_taken_once_it_has_stopped() {
    World world(false);
    world.list_the_rest();
    world.thread().stop();
    CPPUNIT_ASSERT_EQUAL(std::string("nothing"), world.take(world.feed(), true));
    const FeedId late = world.open();
    CPPUNIT_ASSERT_EQUAL(std::string("nothing"), world.take(late, true));
    world.thread().close_feed(late);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(StoreThreadTest);

}  // namespace store_thread_test
}  // namespace sluice::snapshot
