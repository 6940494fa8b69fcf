// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/not_programmed.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace sluice::sync {
namespace not_programmed_test {

using namespace std::chrono_literals;

store::ServicePortKey key(const char* name) {
  return {{base::Symbol("shop"), name}, base::Symbol("http"), model::Protocol::tcp};
}

snapshot::ServicePortPtr port(const char* name) {
  auto made = std::make_shared<store::ServicePort>();
  made->key = key(name);
  return made;
}

class NotProgrammedTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NotProgrammedTest);
  CPPUNIT_TEST(failed_service_ports_are_listed_with_reasons);
  CPPUNIT_TEST(delta_replaces_only_its_own_service_ports);
  CPPUNIT_TEST(removed_service_port_is_erased);
  CPPUNIT_TEST(full_transaction_replaces_all_entries);
  CPPUNIT_TEST(served_report_erases_an_entry);
  CPPUNIT_TEST(entries_differ_by_protocol);
  CPPUNIT_TEST(retries_have_exponential_backoff);
  CPPUNIT_TEST(unrelated_delta_does_not_delay_the_retry);
  CPPUNIT_TEST(new_failure_restarts_the_backoff);
  CPPUNIT_TEST(no_retry_without_failures);
  CPPUNIT_TEST(withheld_service_port_is_not_retried);
  CPPUNIT_TEST(reasons_of_backend_and_core_are_merged);
  CPPUNIT_TEST_SUITE_END();

  NotProgrammed not_programmed_;
  lib::Clock::Time now_{1h};

  static plugin::ServicePortName port_name(const char* name) { return {"shop", name, "http", abi::Protocol::kTcp}; }
  static plugin::ServicePortReports failed(std::initializer_list<const char*> names) {
    plugin::ServicePortReports out;
    for (const char* name : names) out.failed.push_back({port_name(name), "refused", 0});
    return out;
  }

  std::string names() const {
    std::string out;
    for (const auto& [name, reason] : not_programmed_.reasons()) out += name.printed() + " (" + reason + ") ";
    return out;
  }

  void fail_two_service_ports() {
    snapshot::Transaction first;
    first.full = true;
    not_programmed_.note(first, failed({"cart", "till"}), now_);
  }

  void failed_service_ports_are_listed_with_reasons() {
    fail_two_service_ports();
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http (refused) shop/till:http (refused) "), names());
  }

  static snapshot::ServicePortPtr withheld_port(const char* name, const char* why) {
    auto made = std::make_shared<store::ServicePort>();
    made->key = key(name);
    made->withheld = why;
    return made;
  }

  void withheld_service_port_is_not_retried() {
    snapshot::Transaction delta;
    delta.service_ports = {withheld_port("cart", "taken"), port("desk")};
    plugin::ServicePortReports reports;
    add_withheld(delta, reports);
    not_programmed_.note(delta, reports, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http (taken) "), names());
    CPPUNIT_ASSERT(not_programmed_.next_retry() == lib::Clock::Time::max());
    // The backend serves it at its other addresses.
    plugin::ServicePortReports served;
    served.served = {port_name("cart")};
    not_programmed_.note({}, served, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http (taken) "), names());
    delta.service_ports = {port("cart")};
    not_programmed_.note(delta, {}, now_);
    CPPUNIT_ASSERT_EQUAL(std::string(), names());
  }

  void reasons_of_backend_and_core_are_merged() {
    snapshot::Transaction delta;
    delta.service_ports = {withheld_port("cart", "taken"), withheld_port("till", "taken")};
    plugin::ServicePortReports reports = failed({"cart"});
    add_withheld(delta, reports);
    not_programmed_.note(delta, reports, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http (refused; taken) shop/till:http (taken) "), names());
    CPPUNIT_ASSERT(not_programmed_.next_retry() != lib::Clock::Time::max());
  }

  void delta_replaces_only_its_own_service_ports() {
    fail_two_service_ports();
    snapshot::Transaction delta;
    delta.service_ports = {port("cart"), port("desk")};
    not_programmed_.note(delta, failed({"desk"}), now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/desk:http (refused) shop/till:http (refused) "), names());
  }

  void removed_service_port_is_erased() {
    fail_two_service_ports();
    snapshot::Transaction delta;
    delta.removed = {key("cart")};
    not_programmed_.note(delta, {}, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/till:http (refused) "), names());
  }

  void full_transaction_replaces_all_entries() {
    fail_two_service_ports();
    snapshot::Transaction full;
    full.full = true;
    not_programmed_.note(full, failed({"till"}), now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/till:http (refused) "), names());
  }

  void served_report_erases_an_entry() {
    fail_two_service_ports();
    plugin::ServicePortReports reports;
    reports.served = {port_name("cart"), port_name("other")};
    not_programmed_.note({}, reports, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/till:http (refused) "), names());
  }

  void entries_differ_by_protocol() {
    fail_two_service_ports();
    snapshot::Transaction delta;
    delta.removed = {key("cart")};
    delta.removed[0].protocol = model::Protocol::udp;
    not_programmed_.note(delta, {}, now_);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http (refused) shop/till:http (refused) "), names());
  }

  void full(std::initializer_list<const char*> names) {
    snapshot::Transaction transaction;
    transaction.full = true;
    not_programmed_.note(transaction, failed(names), now_);
  }
  // Expects one retry after exactly this delay.
  void expect_retry_after(lib::Clock::Duration delay) {
    CPPUNIT_ASSERT(not_programmed_.next_retry() == now_ + delay);
    CPPUNIT_ASSERT(!not_programmed_.retry_due(now_ + delay - 1ns));
    now_ += delay;
    CPPUNIT_ASSERT(not_programmed_.retry_due(now_));
    CPPUNIT_ASSERT(!not_programmed_.retry_due(now_));
  }

  void retries_have_exponential_backoff() {
    full({"cart"});
    for (const int minutes : {1, 2, 4, 8, 16, 32, 60, 60}) {
      expect_retry_after(std::chrono::minutes(minutes));
      full({"cart"});
    }
  }

  void unrelated_delta_does_not_delay_the_retry() {
    fail_two_service_ports();
    now_ += 30s;
    snapshot::Transaction delta;
    delta.service_ports = {port("desk")};
    not_programmed_.note(delta, {}, now_);
    expect_retry_after(30s);
  }

  void new_failure_restarts_the_backoff() {
    full({"cart"});
    expect_retry_after(1min);
    full({"cart"});
    snapshot::Transaction delta;
    delta.service_ports = {port("till")};
    not_programmed_.note(delta, failed({"till"}), now_);
    expect_retry_after(1min);
  }

  void no_retry_without_failures() {
    CPPUNIT_ASSERT(!not_programmed_.retry_due(lib::Clock::Time::max()));
    full({"cart"});
    full({});
    CPPUNIT_ASSERT(not_programmed_.next_retry() == lib::Clock::Time::max());
    CPPUNIT_ASSERT(!not_programmed_.retry_due(lib::Clock::Time::max()));
    fail_two_service_ports();
    plugin::ServicePortReports served;
    served.served = {port_name("cart"), port_name("till")};
    not_programmed_.note(snapshot::Transaction(), served, now_);
    CPPUNIT_ASSERT(not_programmed_.next_retry() == lib::Clock::Time::max());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NotProgrammedTest);

}  // namespace not_programmed_test
}  // namespace sluice::sync
