// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Clean-up knows every name that the backend writes.
#include "test/unit/common/written_names.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "names/objects.hpp"
#include "test/unit/ipvs/backend_fixture.hpp"

namespace sluice::test {
namespace written_names_test {

using Names = std::vector<std::string>;

class IpvsWrittenNamesTest : public IpvsFixture {
  CPPUNIT_TEST_SUITE(IpvsWrittenNamesTest);
  CPPUNIT_TEST(cleanup_knows_every_name);
  CPPUNIT_TEST(an_unlisted_name_is_found);
  CPPUNIT_TEST_SUITE_END();

  static Names unknown_sets(const FakeSetKernel& kernel) {
    Names unknown;
    for (const auto& [name, set] : kernel.sets) {
      if ((names::makers_of_set(name) & names::kIpvs) == 0) unknown.push_back(name);
    }
    return unknown;
  }

  void cleanup_knows_every_name() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT(unknown_names(rig.rules, names::kIpvs) == Names());
    CPPUNIT_ASSERT(unwritten_chains(rig.rules, names::kIpvs) == Names());
    CPPUNIT_ASSERT_EQUAL(ipvs::kSets, rig.sets.sets.size());
    CPPUNIT_ASSERT(unknown_sets(rig.sets) == Names());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.links.links.count(std::string(names::kServiceLink.name)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.links.links.size());
    for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
      for (const ipvs::SetId id : ipvs::all_sets()) {
        const std::string temporary = ipvs::temporary_name(id, family);
        CPPUNIT_ASSERT_EQUAL_MESSAGE(temporary, names::kIpvs, names::makers_of_set(temporary));
      }
    }
  }

  void an_unlisted_name_is_found() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    rig.sets.sets["KUBE-NEW"];
    CPPUNIT_ASSERT(unknown_sets(rig.sets) == Names{"KUBE-NEW"});
    rig.rules.foreign("*filter\n:KUBE-NEW - [0:0]\nCOMMIT\n");
    CPPUNIT_ASSERT(unknown_names(rig.rules, names::kIpvs) == Names{"filter KUBE-NEW"});
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(IpvsWrittenNamesTest);

}  // namespace written_names_test
}  // namespace sluice::test
