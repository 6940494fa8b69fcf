// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/observe/services/kernel_lines.hpp"

namespace sluice::observe {
namespace kernel_lines_test {

class ServicesKernelLinesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServicesKernelLinesTest);
  CPPUNIT_TEST(lines_are_found_by_their_frontend);
  CPPUNIT_TEST(endpoints_decide_whether_they_agree);
  CPPUNIT_TEST(remarks_are_differences);
  CPPUNIT_TEST(long_lists_are_counted);
  CPPUNIT_TEST_SUITE_END();

 public:
  void lines_are_found_by_their_frontend() {
    const std::vector<std::string> lines{"shop/cart:http 172.30.0.41:80/tcp -> 10.1.0.1:80",
                                         "shop/cart:http :30080/tcp at 192.0.2.7 -> 10.1.0.1:80",
                                         "not wanted by any Service: 172.30.0.9:80/tcp", "odd"};
    KernelLines kernel(lines);
    CPPUNIT_ASSERT(kernel.take("shop/cart:http :30080/tcp") == std::size_t{1});
    CPPUNIT_ASSERT(kernel.take("shop/cart:http :30080/tcp") == std::size_t{1});
    CPPUNIT_ASSERT(!kernel.take("shop/cart:http :3008/tcp"));
    CPPUNIT_ASSERT_EQUAL(lines[1], std::string(kernel[1]));
    CPPUNIT_ASSERT(kernel.untaken() == (std::vector<std::size_t>{0, 2, 3}));
  }

  void endpoints_decide_whether_they_agree() {
    const std::set<std::string> none, one{"10.1.0.1:80"}, two{"10.1.0.1:80", "[fd00::2]:80"};
    CPPUNIT_ASSERT(compare("", one) == Agreement::missing);
    CPPUNIT_ASSERT(compare("a b -> 10.1.0.1:80", one) == Agreement::as_given);
    CPPUNIT_ASSERT(compare("a b -> 10.1.0.1:80", two) == Agreement::differs);
    CPPUNIT_ASSERT(compare("a b -> 10.1.0.1:80, [fd00::2]:80", one) == Agreement::differs);
    CPPUNIT_ASSERT(compare("a b masqueraded -> 10.1.0.1:80; from this node -> 10.1.0.1:80, [fd00::2]:80", two) ==
                   Agreement::as_given);
    CPPUNIT_ASSERT(compare("a b -> rejected, no endpoints", none) == Agreement::as_given);
    CPPUNIT_ASSERT(compare("a b -> rejected, no endpoints", one) == Agreement::differs);
    CPPUNIT_ASSERT(compare("a b from this node -> 10.1.0.1:80; else dropped, no endpoints on this node", one) ==
                   Agreement::as_given);
    // The frontend's own address and source ranges are no endpoints.
    CPPUNIT_ASSERT(compare("a 10.1.0.9:80/tcp -> 10.1.0.1:80; only for 10.0.0.0/8, 2001:db8::/32", one) ==
                   Agreement::as_given);
  }

  void remarks_are_differences() {
    const std::set<std::string> one{"10.1.0.1:80"};
    CPPUNIT_ASSERT(compare("a b -> 10.1.0.1:80 (nothing in slot 0:1)", one) == Agreement::differs);
    CPPUNIT_ASSERT(compare("a b -> (nothing in slot 0:1)", {}) == Agreement::differs);
    // An endpoint that drains takes no new connections.
    CPPUNIT_ASSERT(compare("a b -> 10.1.0.1:80, 10.1.0.9:80 (drains)", one) == Agreement::as_given);
    CPPUNIT_ASSERT(compare("a b -> 10.1.0.1:80 (drains)", one) == Agreement::differs);
    CPPUNIT_ASSERT(compare("a b -> 10.1.0.1:80 (odd), 10.1.0.9:80 (drains)", one) == Agreement::differs);
  }

  void long_lists_are_counted() {
    CPPUNIT_ASSERT_EQUAL(std::string("a b -> 10.1.0.1:80, 10.1.0.2:80"),
                         shortened("a b -> 10.1.0.1:80, 10.1.0.2:80", 2));
    CPPUNIT_ASSERT_EQUAL(std::string("a b -> 10.1.0.1:80 and 2 more"),
                         shortened("a b -> 10.1.0.1:80, 10.1.0.2:80, 10.1.0.3:80", 1));
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "a b -> [fd00::1]:80 and 1 more; from this node -> [fd00::2]:80 and 2 more; only for fd00::/8, fc00::/8"),
        shortened("a b -> [fd00::1]:80, [fd00::3]:80; from this node -> [fd00::2]:80, [fd00::3]:80, [fd00::4]:80 "
                  "(drains); only for fd00::/8, fc00::/8",
                  1));
    CPPUNIT_ASSERT_EQUAL(std::string("a b -> rejected, no endpoints"), shortened("a b -> rejected, no endpoints", 1));
    for (const std::string odd : {"", " -> ", "a", "a -> ;", "a -> , , ;; -> "})
      CPPUNIT_ASSERT_EQUAL(odd, shortened(odd, 1));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServicesKernelLinesTest);

}  // namespace kernel_lines_test
}  // namespace sluice::observe
