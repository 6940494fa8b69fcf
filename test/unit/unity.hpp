// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The first header of a unity source of tests. CppUnit names the object that registers a suite after its line number,
// which two files of one translation unit may share.
#pragma once

#include <cppunit/extensions/HelperMacros.h>

#undef CPPUNIT_MAKE_UNIQUE_NAME
#define CPPUNIT_MAKE_UNIQUE_NAME(name) CPPUNIT_JOIN(name, __COUNTER__)
