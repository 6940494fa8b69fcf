// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/snapshot/builder.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/store/fixtures.hpp"

namespace sluice::snapshot {
namespace {

using base::Family;

class BuilderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(BuilderTest);
  CPPUNIT_TEST(delta_names_only_what_changed);
  CPPUNIT_TEST(there_and_back_again_is_empty);
  CPPUNIT_TEST(added_and_removed_between_takes_is_empty);
  CPPUNIT_TEST(renamed_port_is_removed_and_new);
  CPPUNIT_TEST(removed_service_is_removed);
  CPPUNIT_TEST(full_has_everything_sorted_and_shares_memory);
  CPPUNIT_TEST(generations_chain);
  CPPUNIT_TEST(told_is_what_was_taken_and_no_more);
  CPPUNIT_TEST(changed_node_facts_make_a_delta);
  CPPUNIT_TEST(endpoint_that_moves_between_slices_changes_nothing);
  CPPUNIT_TEST_SUITE_END();

  store::Store store_{"N"};
  Builder builder_{Family::ipv4};

 public:
  void setUp() override { builder_.set_node_facts({}); }

 private:
  void add(const std::string& name) {
    auto service = test::service(name);
    store_.apply(model::Upsert{service});
    store_.apply(model::Upsert{test::slice(name + "-x", {{"10.180.0.1", "N"}}, name)});
  }

  void delta_names_only_what_changed() {
    add("a");
    add("b");
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), builder_.delta(store_).service_ports.size());
    store_.apply(model::Upsert{test::slice("a-x", {{"10.180.0.1", "N"}, {"10.180.2.1"}}, "a")});
    const auto delta = builder_.delta(store_);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), delta.service_ports.size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/a:p80"), delta.service_ports[0]->key.to_string());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), delta.service_ports[0]->endpoints.size());
    CPPUNIT_ASSERT(builder_.delta(store_).empty());
  }

  void told_is_what_was_taken_and_no_more() {
    add("a");
    CPPUNIT_ASSERT(builder_.told().empty());
    builder_.delta(store_);
    add("b");
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), builder_.told().size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/a:p80"), builder_.told()[0]->key.to_string());
    CPPUNIT_ASSERT(store_.has_dirty(Family::ipv4));  // looking takes nothing away
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), builder_.delta(store_).service_ports.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), builder_.told().size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), builder_.generation());
  }

  void there_and_back_again_is_empty() {  // case 82
    add("a");
    builder_.delta(store_);
    store_.apply(model::Upsert{test::slice("a-x", {{"10.180.2.1"}}, "a")});
    store_.apply(model::Upsert{test::slice("a-x", {{"10.180.0.1", "N"}}, "a")});
    CPPUNIT_ASSERT(store_.has_dirty(Family::ipv4));
    CPPUNIT_ASSERT(builder_.delta(store_).empty());
  }

  void added_and_removed_between_takes_is_empty() {  // case 81
    builder_.delta(store_);
    add("a");
    store_.apply(model::Remove{model::ResourceKind::service, test::object("ns1", "a")});
    CPPUNIT_ASSERT(builder_.delta(store_).empty());
  }

  void renamed_port_is_removed_and_new() {  // case 90
    add("a");
    builder_.delta(store_);
    auto service = test::service("a");
    service.ports[0].name = base::Symbol("p80-2");
    store_.apply(model::Upsert{service});
    const auto delta = builder_.delta(store_);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), delta.service_ports.size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/a:p80-2"), delta.service_ports[0]->key.to_string());
    CPPUNIT_ASSERT(!delta.service_ports[0]->has_any_endpoint);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), delta.removed.size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/a:p80"), delta.removed[0].to_string());
  }

  void removed_service_is_removed() {
    add("a");
    builder_.delta(store_);
    store_.apply(model::Remove{model::ResourceKind::service, test::object("ns1", "a")});
    const auto delta = builder_.delta(store_);
    CPPUNIT_ASSERT(delta.service_ports.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), delta.removed.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), builder_.service_port_count());
  }

  void full_has_everything_sorted_and_shares_memory() {
    add("c");
    add("a");
    add("b");
    const auto first = builder_.full(store_);
    CPPUNIT_ASSERT(first.full);
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), first.service_ports.size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/a:p80"), first.service_ports[0]->key.to_string());
    const auto second = builder_.full(store_);
    CPPUNIT_ASSERT_EQUAL(first.generation, second.generation);
    CPPUNIT_ASSERT(first.service_ports[0] == second.service_ports[0]);
  }

  void generations_chain() {
    add("a");
    const auto first = builder_.full(store_);
    add("b");
    const auto second = builder_.delta(store_);
    CPPUNIT_ASSERT_EQUAL(first.generation, second.base_generation);
    CPPUNIT_ASSERT_EQUAL(first.generation + 1, second.generation);
  }

  void changed_node_facts_make_a_delta() {
    builder_.delta(store_);
    NodeFacts facts;
    facts.name = "N";
    builder_.set_node_facts(facts);
    CPPUNIT_ASSERT(builder_.has_pending(store_));
    const auto delta = builder_.delta(store_);
    CPPUNIT_ASSERT(!delta.empty());
    CPPUNIT_ASSERT(delta.service_ports.empty());
    builder_.set_node_facts(facts);
    CPPUNIT_ASSERT(!builder_.has_pending(store_));
  }

  void endpoint_that_moves_between_slices_changes_nothing() {  // case 86
    add("a");
    builder_.delta(store_);
    store_.apply(model::Upsert{test::slice("a-y", {{"10.180.0.1", "N"}}, "a")});
    store_.apply(model::Remove{model::ResourceKind::endpoint_slice, test::object("ns1", "a-x")});
    CPPUNIT_ASSERT(builder_.delta(store_).empty());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(BuilderTest);

}  // namespace
}  // namespace sluice::snapshot
