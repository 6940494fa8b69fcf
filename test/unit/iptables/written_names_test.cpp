// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Clean-up knows every name that the backend writes.
#include "test/unit/common/written_names.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/iptables/backend_rig.hpp"

namespace sluice::test {
namespace written_names_test {

using Names = std::vector<std::string>;

class IptablesWrittenNamesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IptablesWrittenNamesTest);
  CPPUNIT_TEST(cleanup_knows_every_name);
  CPPUNIT_TEST(an_unlisted_name_is_found);
  CPPUNIT_TEST_SUITE_END();

  // A chain of each kind.
  static void write(IptablesRig& rig) {
    std::vector<ServiceSpec> services = many_services(3, 2);
    services[0].vips = {"1.2.3.4"};
    services[0].source_ranges = {"203.0.113.0/25"};
    services[0].node_port = 30001;
    services[1].external_local = true;
    services[1].vips = {"1.2.3.5"};
    services[1].health_check_node_port = 30009;
    services[1].endpoints.front().local = true;
    services[2].endpoints.clear();
    CPPUNIT_ASSERT(rig.full(services) == abi::Code::kOk);
    for (const names::ServiceChains& kind : names::kServiceChains) {
      if (kind.writer == names::Writer::kKubeProxy) continue;
      CPPUNIT_ASSERT_MESSAGE(std::string(kind.prefix), rig.kernel.text().find(kind.prefix) != std::string::npos);
    }
  }

  void cleanup_knows_every_name() {
    IptablesRig rig;
    write(rig);
    CPPUNIT_ASSERT(unknown_names(rig.kernel, names::kIptables) == Names());
    CPPUNIT_ASSERT(unwritten_chains(rig.kernel, names::kIptables) == Names());
  }

  void an_unlisted_name_is_found() {
    IptablesRig rig;
    write(rig);
    rig.kernel.foreign("*nat\n:KUBE-NEW - [0:0]\n-A OUTPUT -j KUBE-NEW\nCOMMIT\n");
    CPPUNIT_ASSERT((unknown_names(rig.kernel, names::kIptables) == Names{"nat KUBE-NEW", "nat OUTPUT -j KUBE-NEW"}));
    // A name of another mode is as unknown.
    CPPUNIT_ASSERT(unknown_names(rig.kernel, names::kUserspace).size() > 2);
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(IptablesWrittenNamesTest);

}  // namespace written_names_test
}  // namespace sluice::test
