// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A test that cannot run here calls skip() with the reason and returns. It is reported as skipped, never as passed.
// test/unit/main.cpp reads the reason after each test.
#pragma once

#include <string>
#include <utility>

namespace sluice::test {

inline std::string skip_reason;

inline void skip(std::string why) { skip_reason = std::move(why); }

}  // namespace sluice::test
