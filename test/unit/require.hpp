// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A cheap assertion for loops that check millions of times. CPPUNIT_ASSERT builds the strings of its message on every call;
// SLUICE_REQUIRE builds them, and evaluates `message`, only when the condition is false.
#pragma once

#include <cppunit/TestAssert.h>

#include <string>

#define SLUICE_REQUIRE(condition, message)                                              \
  do {                                                                                  \
    if (!(condition)) CPPUNIT_FAIL(std::string(message) + ": " #condition " is false"); \
  } while (false)
