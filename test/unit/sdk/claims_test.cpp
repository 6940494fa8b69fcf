// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "sluice/sdk/claims.hpp"

#include <cppunit/extensions/HelperMacros.h>

namespace sluice::sdk {
namespace claims_test {

class ClaimsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ClaimsTest);
  CPPUNIT_TEST(claim_covers_itself_and_matches_of_its_asterisk);
  CPPUNIT_TEST(claims_overlap_if_both_cover_an_artifact);
  CPPUNIT_TEST(claims_of_a_backend_are_checked_together);
  CPPUNIT_TEST_SUITE_END();

  void claim_covers_itself_and_matches_of_its_asterisk() {
    CPPUNIT_ASSERT(covers("nft/ip/kube-proxy", "nft/ip/kube-proxy"));
    CPPUNIT_ASSERT(!covers("nft/ip/kube-proxy", "nft/ip/kube-proxy2"));
    CPPUNIT_ASSERT(!covers("nft/ip/kube-proxy", "nft/ip/Kube-Proxy"));
    CPPUNIT_ASSERT(covers("ipset/KUBE-*", "ipset/KUBE-"));
    CPPUNIT_ASSERT(covers("ipset/KUBE-*", "ipset/KUBE-LOOP-BACK"));
    CPPUNIT_ASSERT(covers("ipset/KUBE-*", "ipset/KUBE-6-*"));
    CPPUNIT_ASSERT(!covers("ipset/KUBE-6-*", "ipset/KUBE-*"));
    CPPUNIT_ASSERT(!covers("ipset/KUBE-*", "ipset/KUBE"));
    CPPUNIT_ASSERT(!covers("", "ipset/KUBE"));
  }

  void claims_overlap_if_both_cover_an_artifact() {
    const auto both = [](std::string_view a, std::string_view b) {
      CPPUNIT_ASSERT_EQUAL(overlap(a, b), overlap(b, a));
      return overlap(a, b);
    };
    CPPUNIT_ASSERT(both("ipset/A", "ipset/A"));
    CPPUNIT_ASSERT(!both("ipset/A", "ipset/B"));
    CPPUNIT_ASSERT(both("ipset/KUBE-*", "ipset/KUBE-A"));
    CPPUNIT_ASSERT(both("ipset/KUBE-*", "ipset/KUBE-6-*"));
    CPPUNIT_ASSERT(!both("ipset/KUBE-4-*", "ipset/KUBE-6-*"));
    CPPUNIT_ASSERT(!both("ipset/KUBE-*", "link/KUBE-A"));
    CPPUNIT_ASSERT(!both("", "ipset/A"));
  }

  void claims_of_a_backend_are_checked_together() {
    const std::vector<abi::StringView> given{view("ipset/KUBE-*"), view("link/kube-ipvs0")};
    const Claims claims(array(given.data(), given.size()));
    CPPUNIT_ASSERT(claims.cover("ipset/KUBE-A") && claims.cover("link/kube-ipvs0") && !claims.cover("link/lo"));
    CPPUNIT_ASSERT(claims.cover_all(std::vector<std::string>{"ipset/KUBE-A", "link/kube-ipvs0"}));
    CPPUNIT_ASSERT(!claims.cover_all(std::vector<std::string>{"ipset/KUBE-A", "link/lo"}));
    CPPUNIT_ASSERT(!Claims().cover("ipset/KUBE-A"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, claims.all().size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ClaimsTest);

}  // namespace claims_test
}  // namespace sluice::sdk
