// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What service ports that change together do not get: frontends of other service ports, and affinity ids.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "test/unit/nftables/model/model_rig.hpp"

namespace sluice::test {
namespace model_settle_test {

using namespace nftables;
using Names = std::vector<std::string>;

class NftablesModelSettleTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesModelSettleTest);
  CPPUNIT_TEST(frontend_gained_before_settle_is_no_conflict);
  CPPUNIT_TEST(conflict_is_reported_once);
  CPPUNIT_TEST(frontend_lost_while_loading_is_a_conflict);
  CPPUNIT_TEST(service_port_without_id_is_not_served);
  CPPUNIT_TEST(id_released_later_is_used);
  CPPUNIT_TEST(new_service_port_takes_a_free_id);
  CPPUNIT_TEST(unclaimed_ids_are_reused);
  CPPUNIT_TEST(a_frontend_has_an_owner);
  CPPUNIT_TEST_SUITE_END();

  static ServiceSpec service(const std::string& name, unsigned number, std::uint32_t affinity_seconds = 0) {
    ServiceSpec spec;
    spec.name = name;
    spec.cluster_ip = "172.30.0." + std::to_string(number);
    spec.affinity_seconds = affinity_seconds;
    spec.endpoints = {{"10.180." + std::to_string(number) + ".1", 80, true}};
    return spec;
  }
  static ServiceSpec with_shared_address(const std::string& name, unsigned number) {
    ServiceSpec spec = service(name, number);
    spec.external_ips = {"1.2.3.4"};
    return spec;
  }
  // Puts all of them, then settles.
  static Model::Unserved put(ModelRig& rig, const std::vector<ServiceSpec>& specs) {
    for (const ServiceSpec& spec : specs) rig.model.put(ModelRig::id(spec), rig.plan(spec));
    return rig.model.settle();
  }
  static Names losers(const Model::Unserved& unserved) {
    Names names;
    for (const Model::Conflict& conflict : unserved.conflicts) names.push_back(conflict.loser + " to " + conflict.owner);
    return names;
  }
  static Names without_ids(const Model::Unserved& unserved) {
    Names names;
    for (const PortId& id : unserved.without_ids) names.push_back(id.first);
    return names;
  }

  void frontend_gained_before_settle_is_no_conflict() {
    for (const bool loser_is_first : {true, false}) {
      ModelRig rig;
      put(rig, {with_shared_address("a", 1), service("b", 2)});
      rig.sync();
      const std::vector<ServiceSpec> now = loser_is_first
                                               ? std::vector{service("a", 1), with_shared_address("b", 2)}
                                               : std::vector{with_shared_address("b", 2), service("a", 1)};
      CPPUNIT_ASSERT(losers(put(rig, now)).empty());
      rig.sync();
      const Outcome outcome = rig.reading().ask(Client::kOutside, {false, {{1, 2, 3, 4}}, abi::Protocol::kTcp, 80});
      CPPUNIT_ASSERT_EQUAL(std::string("10.180.2.1:80 masqueraded"), test::to_string(rig.family, outcome));
    }
  }

  void conflict_is_reported_once() {
    ModelRig rig;
    CPPUNIT_ASSERT((Names{"ns1/b:p80 to ns1/m:p80", "ns1/c:p80 to ns1/m:p80"}) ==
                   losers(put(rig, {with_shared_address("m", 1), with_shared_address("c", 2), with_shared_address("b", 3)})));
    CPPUNIT_ASSERT(losers(put(rig, {service("x", 9)})).empty());
    CPPUNIT_ASSERT(Names{"ns1/c:p80 to ns1/m:p80"} == losers(put(rig, {with_shared_address("c", 2)})));
    // A service port removed before settle() is not reported.
    rig.model.put(ModelRig::id(service("b", 3)), rig.plan(with_shared_address("b", 3)));
    rig.remove(service("b", 3));
    CPPUNIT_ASSERT(losers(rig.model.settle()).empty());
  }

  void frontend_lost_while_loading_is_a_conflict() {
    ModelRig rig;
    put(rig, {with_shared_address("m", 1)});
    rig.sync();
    const Listing listing = rig.table.listing(rig.family);
    rig.model.start_over(&listing);
    CPPUNIT_ASSERT(Names{"ns1/a:p80 to ns1/m:p80"} ==
                   losers(put(rig, {with_shared_address("a", 2), with_shared_address("m", 1)})));
  }

  void service_port_without_id_is_not_served() {
    ModelRig rig(abi::Family::kIpv4, false, 2);
    ServiceSpec plain = service("d", 4);
    CPPUNIT_ASSERT(without_ids(put(rig, {service("a", 1, 60), service("b", 2, 60), plain})).empty());
    rig.sync();
    const auto before = rig.table.elements;
    plain.affinity_seconds = 60;
    CPPUNIT_ASSERT((Names{"ns1/c:p80", "ns1/d:p80"}) == without_ids(put(rig, {plain, service("c", 3, 60)})));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.model.size());
    CPPUNIT_ASSERT(!rig.model.has_ids_again());
    CPPUNIT_ASSERT_MESSAGE("reported once", without_ids(put(rig, {service("a", 1, 60)})).empty());
    rig.remove(service("a", 1));
    CPPUNIT_ASSERT(rig.model.has_ids_again());
    CPPUNIT_ASSERT(without_ids(put(rig, {service("c", 3, 60)})).empty());
    CPPUNIT_ASSERT(!rig.model.has_ids_again());
    plain.affinity_seconds = 0;
    CPPUNIT_ASSERT(without_ids(put(rig, {plain})).empty());
    rig.remove(service("b", 2));
    CPPUNIT_ASSERT_MESSAGE("no service port waits for it", !rig.model.has_ids_again());
    rig.remove(service("c", 3));
    CPPUNIT_ASSERT(without_ids(put(rig, {service("a", 1, 60), service("b", 2, 60)})).empty());
    rig.sync();
    CPPUNIT_ASSERT_EQUAL(before.size(), rig.table.elements.size());
    CPPUNIT_ASSERT(rig.reading().faults().empty());
  }

  void id_released_later_is_used() {
    ModelRig rig(abi::Family::kIpv4, false, 1);
    ServiceSpec first = with_shared_address("a", 1), second = service("b", 2, 60);
    put(rig, {first, second, with_shared_address("c", 3)});
    rig.sync();
    first.affinity_seconds = 60;
    second.affinity_seconds = 0;
    const Model::Unserved unserved = put(rig, {first, second});
    CPPUNIT_ASSERT(unserved.without_ids.empty() && unserved.conflicts.empty());
    CPPUNIT_ASSERT_MESSAGE("it kept what others wait for", rig.model.take_gained().empty());
    rig.sync();
    CPPUNIT_ASSERT(rig.reading().faults().empty());
  }

  void new_service_port_takes_a_free_id() {
    ModelRig rig(abi::Family::kIpv4, false, 2);
    const ServiceSpec b = service("b", 2, 60), c = service("c", 3, 60);
    put(rig, {b, c});
    rig.sync();
    const Listing listing = rig.table.listing(rig.family);
    rig.model.start_over(&listing);
    CPPUNIT_ASSERT(Names{"ns1/a:p80"} == without_ids(put(rig, {service("a", 1, 60), b, c})));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.load());
  }

  void unclaimed_ids_are_reused() {
    ModelRig rig(abi::Family::kIpv4, false, 2);
    const ServiceSpec b = service("b", 2, 60), c = service("c", 3, 60);
    put(rig, {b, c});
    rig.sync();
    const Listing listing = rig.table.listing(rig.family);
    rig.model.start_over(&listing);
    CPPUNIT_ASSERT(without_ids(put(rig, {service("a", 1, 60), c})).empty());
    rig.load();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.model.size());
    rig.remove(c);
    CPPUNIT_ASSERT(without_ids(put(rig, {b})).empty());
    rig.sync();
    CPPUNIT_ASSERT(rig.reading().faults().empty());
  }

  void a_frontend_has_an_owner() {
    ModelRig rig;
    const FrontendKey shared{false, {{1, 2, 3, 4}}, abi::Protocol::kTcp, 80};
    CPPUNIT_ASSERT(!rig.model.owner(shared));
    put(rig, {with_shared_address("m", 1), with_shared_address("a", 2)});
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/m:p80"), std::string(rig.model.owner(shared).value_or("")));
    rig.remove(service("m", 1));
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/a:p80"), std::string(rig.model.owner(shared).value_or("")));
    CPPUNIT_ASSERT(!rig.model.owner({true, {}, abi::Protocol::kTcp, 80}));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesModelSettleTest);

}  // namespace model_settle_test
}  // namespace sluice::test
