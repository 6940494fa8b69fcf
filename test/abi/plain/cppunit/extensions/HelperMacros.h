// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The part of CppUnit that slots_test.cpp needs. gate.sh compiles that test often, and this takes a fraction of the time.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace CppUnit {
class TestFixture {};
}  // namespace CppUnit

#define CPPUNIT_TEST_SUITE(name) \
 public:                         \
  void run() {
#define CPPUNIT_TEST(method) method()
#define CPPUNIT_TEST_SUITE_END() } static_assert(true)
#define CPPUNIT_TEST_SUITE_REGISTRATION(name) const bool ran = (name().run(), true)
#define CPPUNIT_ASSERT_MESSAGE(message, condition) \
  ((condition) ? void() : (static_cast<void>(std::puts(message)), std::exit(1)))
#define CPPUNIT_ASSERT(condition) CPPUNIT_ASSERT_MESSAGE(#condition, condition)
#define CPPUNIT_ASSERT_EQUAL(wanted, found) CPPUNIT_ASSERT_MESSAGE(#wanted " == " #found, (wanted) == (found))
