// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: made for the next major version, in which all fields after the minor have another meaning. If it is
// mapped, its code runs and creates the file SLUICE_TEST_MARK.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "sluice/abi/entry.hpp"

namespace {

const bool g_marked = [] {
  const char* const mark = std::getenv("SLUICE_TEST_MARK");
  return mark != nullptr && close(open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) == 0;
}();

}  // namespace

SLUICE_PLUGIN_ENTRY = {sluice::abi::kMagic, sluice::abi::kMajor + 1, 0, 16, ~0u, ~0ull, ~0ull,
                       nullptr,             nullptr,                 nullptr, nullptr, {}, {}, {}};
