// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Clean-up knows every name that the backend writes.
#include "test/unit/common/written_names.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/userspace/backend_rig.hpp"

namespace sluice::userspace {
namespace written_names_test {

using Names = std::vector<std::string>;
using test::unknown_names;

class WrittenNamesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(WrittenNamesTest);
  CPPUNIT_TEST(cleanup_knows_every_name);
  CPPUNIT_TEST(an_unlisted_name_is_found);
  CPPUNIT_TEST_SUITE_END();

  static void write(test::UserspaceRig& rig) {
    test::ServiceSpec service;
    service.vips = {"1.2.3.4"};
    service.source_ranges = {"203.0.113.0/25"};
    service.endpoints = {{"127.0.0.1", 9, false}};
    CPPUNIT_ASSERT(rig.full({service}) == abi::Code::kOk);
  }

  void cleanup_knows_every_name() {
    test::UserspaceRig rig;
    write(rig);
    CPPUNIT_ASSERT(unknown_names(rig.kernel, names::kUserspace) == Names());
    CPPUNIT_ASSERT(test::unwritten_chains(rig.kernel, names::kUserspace) == Names());
  }

  void an_unlisted_name_is_found() {
    test::UserspaceRig rig;
    write(rig);
    rig.kernel.foreign("*nat\n:KUBE-NEW - [0:0]\nCOMMIT\n");
    CPPUNIT_ASSERT(unknown_names(rig.kernel, names::kUserspace) == Names{"nat KUBE-NEW"});
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(WrittenNamesTest);

}  // namespace written_names_test
}  // namespace sluice::userspace
