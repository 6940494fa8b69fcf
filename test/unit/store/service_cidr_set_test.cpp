// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/service_cidr_set.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/store/store.hpp"

namespace sluice::store {
namespace service_cidr_set_test {

using lib::Family;
using model::ResourceKind;

model::ServiceCidr object(const std::string& name, std::initializer_list<const char*> cidrs) {
  model::ServiceCidr out{name, {}};
  for (const char* cidr : cidrs) out.cidrs.push_back(lib::IpPrefix::parse(cidr).value());
  return out;
}

std::string text(const std::vector<lib::IpPrefix>& ranges) {
  std::string out;
  for (const auto& range : ranges) out += (out.empty() ? "" : " ") + range.to_string();
  return out;
}

class ServiceCidrSetTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServiceCidrSetTest);
  CPPUNIT_TEST(ranges_are_sorted_and_none_is_inside_another);
  CPPUNIT_TEST(a_list_removes_objects_that_it_does_not_contain);
  CPPUNIT_TEST(equal_objects_change_nothing);
  CPPUNIT_TEST(the_store_counts_changes_and_does_not_wait);
  CPPUNIT_TEST(unused_service_cidrs_are_ignored);
  CPPUNIT_TEST(service_cidrs_can_be_enabled_and_disabled);
  CPPUNIT_TEST_SUITE_END();

  void ranges_are_sorted_and_none_is_inside_another() {
    ServiceCidrSet set;
    set.upsert(object("c", {"172.30.0.0/16", "fd00:30::/112"}));
    set.upsert(object("a", {"172.30.4.0/24", "172.30.0.0/24", "10.0.0.0/24", "172.30.0.0/16"}));
    set.upsert(object("b", {"172.31.0.0/16", "172.30.255.0/24"}));
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.0/24 172.30.0.0/16 172.31.0.0/16"), text(set.ranges(Family::ipv4)));
    CPPUNIT_ASSERT_EQUAL(std::string("fd00:30::/112"), text(set.ranges(Family::ipv6)));
    CPPUNIT_ASSERT(set.remove("c"));
    CPPUNIT_ASSERT_EQUAL(std::string(""), text(set.ranges(Family::ipv6)));
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.0/24 172.30.0.0/16 172.31.0.0/16"), text(set.ranges(Family::ipv4)));
    CPPUNIT_ASSERT(!set.remove("c"));
  }

  void a_list_removes_objects_that_it_does_not_contain() {
    ServiceCidrSet set;
    set.upsert(object("a", {"10.0.0.0/24"}));
    set.upsert(object("b", {"10.0.1.0/24"}));
    set.upsert(object("c", {"10.0.2.0/24"}));
    set.begin_list();
    set.upsert(object("a", {"10.0.0.0/24"}));
    set.touch("c");  // exists, but is invalid now
    CPPUNIT_ASSERT(set.end_list());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.0/24 10.0.2.0/24"), text(set.ranges(Family::ipv4)));
    set.begin_list();
    CPPUNIT_ASSERT(set.end_list());
    CPPUNIT_ASSERT(set.ranges(Family::ipv4).empty());
    set.begin_list();
    CPPUNIT_ASSERT(!set.end_list());
  }

  void equal_objects_change_nothing() {
    ServiceCidrSet set;
    CPPUNIT_ASSERT(set.upsert(object("a", {"10.0.0.0/24"})));
    CPPUNIT_ASSERT(!set.upsert(object("a", {"10.0.0.0/24"})));
    CPPUNIT_ASSERT(set.upsert(object("a", {"10.0.0.0/24", "10.0.1.0/24"})));
  }

  static void list(Store& store, ResourceKind kind) {
    store.apply(model::ListBegin{kind});
    store.apply(model::ListEnd{kind});
  }

  void the_store_counts_changes_and_does_not_wait() {
    Store store("N", {.service_cidrs = true});
    list(store, ResourceKind::service);
    list(store, ResourceKind::endpoint_slice);
    list(store, ResourceKind::node);
    CPPUNIT_ASSERT(store.synced() && !store.service_cidrs_known());
    store.apply(model::ListBegin{ResourceKind::service_cidr});
    store.apply(model::Upsert{object("a", {"10.0.0.0/24"})});
    store.apply(model::ListEnd{ResourceKind::service_cidr});
    CPPUNIT_ASSERT(store.service_cidrs_known());
    const auto version = store.service_cidrs_version();
    CPPUNIT_ASSERT(version != 0);
    store.apply(model::Upsert{object("a", {"10.0.0.0/24"})});
    store.apply(model::Remove{ResourceKind::service_cidr, {base::Symbol(), "b"}});
    store.apply(model::Unusable{ResourceKind::service_cidr, {base::Symbol(), "a"}});
    CPPUNIT_ASSERT_EQUAL(version, store.service_cidrs_version());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.0/24"), text(store.service_cidrs(Family::ipv4)));
    store.apply(model::Remove{ResourceKind::service_cidr, {base::Symbol(), "a"}});
    CPPUNIT_ASSERT(version != store.service_cidrs_version());
    CPPUNIT_ASSERT(store.service_cidrs(Family::ipv4).empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), store.node_version());
  }

  void unused_service_cidrs_are_ignored() {
    Store store("N");
    CPPUNIT_ASSERT(store.service_cidrs_known());
    store.apply(model::Upsert{object("a", {"10.0.0.0/24"})});
    CPPUNIT_ASSERT(store.service_cidrs(Family::ipv4).empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), store.service_cidrs_version());
  }

  void service_cidrs_can_be_enabled_and_disabled() {
    Store store("N");
    store.apply(model::ListBegin{ResourceKind::service_cidr});
    store.apply(model::Upsert{object("a", {"10.0.0.0/24"})});
    const auto before = store.service_cidrs_version();
    store.set_options({.service_cidrs = true});
    CPPUNIT_ASSERT(before != store.service_cidrs_version());
    // An incomplete list does not count.
    CPPUNIT_ASSERT(!store.service_cidrs_known());
    CPPUNIT_ASSERT(store.service_cidrs(Family::ipv4).empty());
    const auto unlisted = store.service_cidrs_version();
    store.apply(model::ListEnd{ResourceKind::service_cidr});
    CPPUNIT_ASSERT(store.service_cidrs_known());
    CPPUNIT_ASSERT(unlisted != store.service_cidrs_version());
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.0/24"), text(store.service_cidrs(Family::ipv4)));
    const auto listed = store.service_cidrs_version();
    store.set_options({});
    CPPUNIT_ASSERT(listed != store.service_cidrs_version());
    CPPUNIT_ASSERT(store.service_cidrs(Family::ipv4).empty());
    store.apply(model::Upsert{object("a", {"10.0.1.0/24"})});
    store.set_options({.service_cidrs = true});
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.1.0/24"), text(store.service_cidrs(Family::ipv4)));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServiceCidrSetTest);

}  // namespace service_cidr_set_test
}  // namespace sluice::store
