// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every row of the tables of names is removed, alone and with all others.
#include "core/cleanup/names.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/cleanup/selection.hpp"
#include "names/claims.hpp"
#include "names/jumps.hpp"
#include "names/objects.hpp"

namespace sluice::cleanup {
namespace names_test {

using lib::Family;

class CleanupNamesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CleanupNamesTest);
  CPPUNIT_TEST(removes_every_chain);
  CPPUNIT_TEST(removes_every_set);
  CPPUNIT_TEST(removes_every_single_object);
  CPPUNIT_TEST(knows_every_jump_and_its_target);
  CPPUNIT_TEST(an_object_has_one_row);
  CPPUNIT_TEST(finds_sets_by_their_exact_names);
  CPPUNIT_TEST_SUITE_END();

 public:
  static bool removes(const auto& row, const auto& is_selected) {
    return is_selected(Selection(row.modes, 0)) && is_selected(Selection(kAllModes, 0)) &&
           !is_selected(Selection(kAllModes & ~row.modes, row.modes));
  }

  void removes_every_chain() {
    for (const Family family : lib::kFamilies) {
      const auto removed = [&](const auto& row, std::string_view table, const std::string& chain) {
        return removes(row, [&](const Selection& selection) { return selection.chain(family, table, chain); });
      };
      for (const names::Chain& row : names::kChains) {
        CPPUNIT_ASSERT_MESSAGE(std::string(row.name),
                               removed(row, names::table_name(row.table), std::string(row.name)));
      }
      for (const names::ServiceChains& row : names::kServiceChains) {
        CPPUNIT_ASSERT_MESSAGE(std::string(row.prefix),
                               removed(row, "nat", std::string(row.prefix) + "XPGD46QRK7WJZT7O"));
      }
      for (const std::string_view chain : names::kKubeletChains) {
        CPPUNIT_ASSERT_MESSAGE(std::string(chain), !Selection(kAllModes, 0).chain(family, "filter", chain));
      }
    }
  }

  void removes_every_set() {
    for (const names::Set& row : names::kSets) {
      for (const bool ipv6 : {false, true}) {
        for (const std::string& name : {names::set_name(row, ipv6), names::temporary_set_name(row, ipv6)}) {
          CPPUNIT_ASSERT_MESSAGE(name, removes(row, [&](const Selection& selection) { return selection.set(name); }));
          CPPUNIT_ASSERT_MESSAGE(name, names::find_set(name).set == &row && names::find_set(name).ipv6 == ipv6);
        }
      }
    }
  }

  void removes_every_single_object() {
    for (const bool ipv6 : {false, true}) {
      CPPUNIT_ASSERT(removes(names::kNftTable, [&](const Selection& selection) {
        return selection.table(names::nft_family(ipv6), names::kNftTable.name);
      }));
    }
    CPPUNIT_ASSERT(removes(names::kServiceLink, [](const Selection& selection) {
      return selection.links() == std::vector<std::string>{std::string(names::kServiceLink.name)};
    }));
    CPPUNIT_ASSERT(
        removes(names::kVirtualServers, [](const Selection& selection) { return selection.virtual_servers(); }));
    for (const names::Object& object : {names::kNftTable, names::kServiceLink}) {
      CPPUNIT_ASSERT_EQUAL(std::string(object.name), std::string(object.name.data()));
    }
  }

  void knows_every_jump_and_its_target() {
    const auto known = known_jumps();
    for (const names::Jump& row : names::kJumps) {
      const std::string_view table = names::table_name(row.table);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(std::string(row.to), row.modes, row.modes & makers_of_chain(table, row.to));
      std::string rule(row.match);
      rule.append(rule.empty() ? "" : " ").append("-m comment --comment \"").append(row.comment).append("\" -j ");
      rule.append(row.to);
      CPPUNIT_ASSERT_MESSAGE(rule, std::any_of(known.begin(), known.end(), [&](const KnownJump& jump) {
                               return jump.table == table && jump.from == row.from && jump.rule == rule;
                             }));
    }
  }

  void an_object_has_one_row() {
    std::set<std::string> claims;
    for (const names::Chain& row : names::kChains) {
      const std::string claim = names::chain_claim(false, row.table, row.name);
      CPPUNIT_ASSERT_MESSAGE(claim, claims.insert(claim).second);
    }
    for (const names::Set& row : names::kSets) {
      CPPUNIT_ASSERT_MESSAGE(std::string(row.name), claims.insert(names::set_claim(row.name)).second);
    }
  }

  void finds_sets_by_their_exact_names() {
    for (const char* name :
         {"", "KUBE-", "KUBE-6-", "KUBE-CLUSTER", "KUBE-CLUSTER-IPS", "KUBE-CLUSTER-IP-N-N", "CLUSTER-IP",
          "KUBE-6-NODE-PORT-LOCAL-SCTP-HASH", "KUBE-6-NODE-PORT-LOCAL-SCTP-HA", "-N"}) {
      CPPUNIT_ASSERT_MESSAGE(name, names::find_set(name).set == nullptr);
    }
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(CleanupNamesTest);

}  // namespace names_test
}  // namespace sluice::cleanup
