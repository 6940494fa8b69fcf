// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/start_list.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <utility>

namespace sluice::daemon {
namespace start_list_test {

class StartListTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StartListTest);
  CPPUNIT_TEST(parts_stop_in_reverse_order);
  CPPUNIT_TEST(after_a_failure_nothing_starts_and_everything_stops);
  CPPUNIT_TEST_SUITE_END();

  StartList::Part part(const std::string& name, const lib::Status& status = {}) {
    return {[this, name, status] {
              log_ += "+" + name;
              return status;
            },
            [this, name] { log_ += "-" + name; }};
  }

  void parts_stop_in_reverse_order() {
    const StartList list({part("a"), {{}, [this] { log_ += "-b"; }}, {part("c").start, {}}, part("d")});
    CPPUNIT_ASSERT(list.start().ok());
    list.stop();
    CPPUNIT_ASSERT_EQUAL(std::string("+a+c+d-d-b-a"), log_);
  }

  void after_a_failure_nothing_starts_and_everything_stops() {
    const StartList list({part("a"), part("b", lib::unavailable("no room")), part("c")});
    CPPUNIT_ASSERT_EQUAL(std::string("no room"), list.start().message());
    list.stop();
    CPPUNIT_ASSERT_EQUAL(std::string("+a+b-c-b-a"), log_);
  }

  std::string log_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(StartListTest);

}  // namespace start_list_test
}  // namespace sluice::daemon
