// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// CPPUNIT_ASSERT for what is asked millions of times: that makes strings of its text and of the place in the source each time,
// this when it fails. `message` is evaluated only then.
#pragma once

#include <cppunit/TestAssert.h>

#include <string>

#define SLUICE_REQUIRE(condition, message)                                              \
  do {                                                                                  \
    if (!(condition)) CPPUNIT_FAIL(std::string(message) + ": " #condition " is false"); \
  } while (false)
