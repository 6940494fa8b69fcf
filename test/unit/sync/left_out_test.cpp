// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/left_out.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace sluice::sync {
namespace left_out_test {

using namespace std::chrono_literals;

store::ServicePortKey key(const char* name) {
  return {{base::Symbol("shop"), name}, base::Symbol("http"), model::Protocol::tcp};
}

snapshot::ServicePortPtr port(const char* name) {
  auto made = std::make_shared<store::ServicePort>();
  made->key = key(name);
  return made;
}

class LeftOutTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LeftOutTest);
  CPPUNIT_TEST(what_fails_is_there_with_its_reason);
  CPPUNIT_TEST(a_delta_speaks_of_those_it_names);
  CPPUNIT_TEST(what_is_removed_is_no_longer_left_out);
  CPPUNIT_TEST(a_full_transaction_speaks_of_all);
  CPPUNIT_TEST(who_is_served_by_now_is_told_without_being_named);
  CPPUNIT_TEST(the_protocol_belongs_to_the_key);
  CPPUNIT_TEST(they_are_tried_again_ever_more_rarely);
  CPPUNIT_TEST(what_concerns_none_of_them_does_not_put_it_off);
  CPPUNIT_TEST(another_one_begins_from_the_start);
  CPPUNIT_TEST(when_nobody_is_left_out_nothing_is_tried_again);
  CPPUNIT_TEST(what_the_core_withholds_is_left_out_and_not_tried_again);
  CPPUNIT_TEST(a_backends_reason_and_the_cores_are_one);
  CPPUNIT_TEST_SUITE_END();

  LeftOut left_out_;
  base::Clock::Time now_{1h};

  static plugin::ServicePortName port_name(const char* name) { return {"shop", name, "http", abi::Protocol::kTcp}; }
  static plugin::ServicePortReports failed(std::initializer_list<const char*> names) {
    plugin::ServicePortReports out;
    for (const char* name : names) out.failed.push_back({port_name(name), "refused", 0});
    return out;
  }

  std::string names() const {
    std::string out;
    for (const auto& [name, reason] : left_out_.reasons()) out += name.printed() + " (" + reason + ") ";
    return out;
  }

  void two_are_left_out() {
    snapshot::Transaction first;
    first.full = true;
    left_out_.note(first, failed({"cart", "till"}), now_);
  }

  void what_fails_is_there_with_its_reason() {
    two_are_left_out();
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http (refused) shop/till:http (refused) "), names());
  }

  static snapshot::ServicePortPtr withheld_port(const char* name, const char* why) {
    auto made = std::make_shared<store::ServicePort>();
    made->key = key(name);
    made->withheld = why;
    return made;
  }

  void what_the_core_withholds_is_left_out_and_not_tried_again() {
    snapshot::Transaction delta;
    delta.service_ports = {withheld_port("cart", "taken"), port("desk")};
    plugin::ServicePortReports reports;
    add_withheld(delta, reports);
    left_out_.note(delta, reports, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http (taken) "), names());
    CPPUNIT_ASSERT(left_out_.next_retry() == base::Clock::Time::max());
    // Served at the rest of its addresses, as the backend says.
    plugin::ServicePortReports served;
    served.served = {port_name("cart")};
    left_out_.note({}, served, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http (taken) "), names());
    delta.service_ports = {port("cart")};
    left_out_.note(delta, {}, now_);
    CPPUNIT_ASSERT_EQUAL(std::string(), names());
  }

  void a_backends_reason_and_the_cores_are_one() {
    snapshot::Transaction delta;
    delta.service_ports = {withheld_port("cart", "taken"), withheld_port("till", "taken")};
    plugin::ServicePortReports reports = failed({"cart"});
    add_withheld(delta, reports);
    left_out_.note(delta, reports, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http (refused; taken) shop/till:http (taken) "), names());
    CPPUNIT_ASSERT(left_out_.next_retry() != base::Clock::Time::max());
  }

  void a_delta_speaks_of_those_it_names() {
    two_are_left_out();
    snapshot::Transaction delta;
    delta.service_ports = {port("cart"), port("desk")};
    left_out_.note(delta, failed({"desk"}), now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/desk:http (refused) shop/till:http (refused) "), names());
  }

  void what_is_removed_is_no_longer_left_out() {
    two_are_left_out();
    snapshot::Transaction delta;
    delta.removed = {key("cart")};
    left_out_.note(delta, {}, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/till:http (refused) "), names());
  }

  void a_full_transaction_speaks_of_all() {
    two_are_left_out();
    snapshot::Transaction full;
    full.full = true;
    left_out_.note(full, failed({"till"}), now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/till:http (refused) "), names());
  }

  void who_is_served_by_now_is_told_without_being_named() {
    two_are_left_out();
    plugin::ServicePortReports reports;
    reports.served = {port_name("cart"), port_name("nobody")};
    left_out_.note({}, reports, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/till:http (refused) "), names());
  }

  void the_protocol_belongs_to_the_key() {
    two_are_left_out();
    snapshot::Transaction delta;
    delta.removed = {key("cart")};
    delta.removed[0].protocol = model::Protocol::udp;
    left_out_.note(delta, {}, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http (refused) shop/till:http (refused) "), names());
  }

  void full(std::initializer_list<const char*> names) {
    snapshot::Transaction transaction;
    transaction.full = true;
    left_out_.note(transaction, failed(names), now_);
  }
  // Neither a moment sooner nor later, and once.
  void is_due_after(base::Clock::Duration pause) {
    CPPUNIT_ASSERT(left_out_.next_retry() == now_ + pause);
    CPPUNIT_ASSERT(!left_out_.retry_due(now_ + pause - 1ns));
    now_ += pause;
    CPPUNIT_ASSERT(left_out_.retry_due(now_));
    CPPUNIT_ASSERT(!left_out_.retry_due(now_));
  }

  void they_are_tried_again_ever_more_rarely() {
    full({"cart"});
    for (const int minutes : {1, 2, 4, 8, 16, 32, 60, 60}) {
      is_due_after(std::chrono::minutes(minutes));
      full({"cart"});
    }
  }

  void what_concerns_none_of_them_does_not_put_it_off() {
    two_are_left_out();
    now_ += 30s;
    snapshot::Transaction delta;
    delta.service_ports = {port("desk")};
    left_out_.note(delta, {}, now_);
    is_due_after(30s);
  }

  void another_one_begins_from_the_start() {
    full({"cart"});
    is_due_after(1min);
    full({"cart"});
    snapshot::Transaction delta;
    delta.service_ports = {port("till")};
    left_out_.note(delta, failed({"till"}), now_);
    is_due_after(1min);
  }

  void when_nobody_is_left_out_nothing_is_tried_again() {
    CPPUNIT_ASSERT(!left_out_.retry_due(base::Clock::Time::max()));
    full({"cart"});
    full({});
    CPPUNIT_ASSERT(left_out_.next_retry() == base::Clock::Time::max());
    CPPUNIT_ASSERT(!left_out_.retry_due(base::Clock::Time::max()));
    two_are_left_out();
    plugin::ServicePortReports served;
    served.served = {port_name("cart"), port_name("till")};
    left_out_.note(snapshot::Transaction(), served, now_);
    CPPUNIT_ASSERT(left_out_.next_retry() == base::Clock::Time::max());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(LeftOutTest);

}  // namespace left_out_test
}  // namespace sluice::sync
