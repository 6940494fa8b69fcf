// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/recent_namespaces.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <memory>
#include <string>

namespace sluice::sync {
namespace recent_namespaces_test {

using namespace std::chrono_literals;

store::ServicePortKey key(const std::string& name_space) {
  return {{base::Symbol(name_space), "cart"}, base::Symbol("http"), model::Protocol::tcp};
}

model::Namespaces names(std::initializer_list<const char*> texts) {
  model::Namespaces out;
  for (const char* text : texts) out.insert(base::Symbol(text));
  return out;
}

class RecentNamespacesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RecentNamespacesTest);
  CPPUNIT_TEST(a_namespace_is_recent_for_two_minimum_intervals);
  CPPUNIT_TEST(removed_service_ports_make_a_namespace_recent);
  CPPUNIT_TEST(without_a_minimum_none_is_recent);
  CPPUNIT_TEST(new_minimum_applies_to_earlier_runs);
  CPPUNIT_TEST(expired_namespaces_are_removed);
  CPPUNIT_TEST_SUITE_END();

  RecentNamespaces recent_{500ms};
  lib::Clock::Time now_{1h};

  void run(const std::string& changed, const std::string& removed = "") {
    snapshot::Transaction transaction;
    auto port = std::make_shared<store::ServicePort>();
    port->key = key(changed);
    transaction.service_ports = {port};
    if (!removed.empty()) transaction.removed = {key(removed)};
    recent_.note(transaction, now_);
  }

  void a_namespace_is_recent_for_two_minimum_intervals() {
    run("shop");
    CPPUNIT_ASSERT(!recent_.lacks_any(names({"shop"}), now_));
    CPPUNIT_ASSERT(recent_.lacks_any(names({"shop", "bank"}), now_));
    CPPUNIT_ASSERT(!recent_.lacks_any({}, now_));
    CPPUNIT_ASSERT(!recent_.lacks_any(names({"shop"}), now_ + 999ms));
    CPPUNIT_ASSERT(recent_.lacks_any(names({"shop"}), now_ + 1s));
  }

  void removed_service_ports_make_a_namespace_recent() {
    run("shop", "bank");
    CPPUNIT_ASSERT(!recent_.lacks_any(names({"shop", "bank"}), now_));
  }

  void without_a_minimum_none_is_recent() {
    recent_.set_minimum(0s);
    run("shop");
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), recent_.size());
    CPPUNIT_ASSERT(recent_.lacks_any(names({"shop"}), now_));
  }

  void new_minimum_applies_to_earlier_runs() {
    run("shop");
    recent_.set_minimum(5s);
    CPPUNIT_ASSERT(!recent_.lacks_any(names({"shop"}), now_ + 9s));
  }

  void expired_namespaces_are_removed() {
    for (int i = 0; i < 100; ++i) {
      run("tenant" + std::to_string(i));
      now_ += 100ms;
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t(10), recent_.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RecentNamespacesTest);

}  // namespace recent_namespaces_test
}  // namespace sluice::sync
