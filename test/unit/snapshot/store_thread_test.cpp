// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// ServiceCIDRs on their way to the backend.
#include "core/snapshot/store_thread.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <condition_variable>
#include <mutex>

#include "test/unit/plugin/captured_log.hpp"

namespace sluice::snapshot {
namespace {

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
                {[this](Family) {
                   const std::lock_guard lock(mutex_);
                   ++announced_;
                   changed_.notify_all();
                 },
                 [](Family, const std::optional<model::Node>&) { return std::optional(NodeFacts()); }},
                {.service_cidrs = service_cidrs}, patience) {
    thread_.start();
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
    CPPUNIT_ASSERT(changed_.wait_for(lock, kGenerous, [&] { return announced_ >= announcements; }));
  }
  // Everything delivered has been dealt with.
  int announced() {
    thread_.status();
    const std::lock_guard lock(mutex_);
    return announced_;
  }
  // The next delta, its version of the facts and its ranges; "nothing" when there is none.
  std::string take() {
    const auto taken = thread_.take(Family::ipv4, false);
    if (!taken) return "nothing";
    std::string out = std::to_string(taken->node_version);
    for (const auto& range : taken->node->service_cidrs) out += " " + range.to_string();
    return taken->empty() ? "empty" : out;
  }
  void deliver(model::Event event) { thread_.deliver(std::move(event)); }

 private:
  test::CapturedLog log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int announced_ = 0;  // under mutex_
  StoreThread thread_;
};

class StoreThreadTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StoreThreadTest);
  CPPUNIT_TEST(ranges_are_part_of_the_node_and_change_its_version);
  CPPUNIT_TEST(the_first_transaction_has_them_when_they_come_in_time);
  CPPUNIT_TEST(nobody_waits_for_longer_than_a_moment);
  CPPUNIT_TEST(where_they_are_of_no_use_nobody_waits);
  CPPUNIT_TEST_SUITE_END();

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
};

CPPUNIT_TEST_SUITE_REGISTRATION(StoreThreadTest);

}  // namespace
}  // namespace sluice::snapshot
