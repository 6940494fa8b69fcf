// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/memory.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "test/unit/skip.hpp"

namespace sluice::base {
namespace memory_test {

// A line of /proc/self/status, in KiB.
long resident(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stol(line.substr(field.size() + 1));
  }
  return -1;
}

class MemoryTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(MemoryTest);
  CPPUNIT_TEST(free_memory_is_returned);
  CPPUNIT_TEST_SUITE_END();

  void free_memory_is_returned() {
    if (!kOwnHeap) {
      test::skip("a sanitizer's heap keeps what is freed");
      return;
    }
    // Many small blocks, of which the last is kept, so that the heap cannot shrink from its end.
    std::vector<std::unique_ptr<char[]>> pieces;
    for (int i = 0; i < 32 * 1024; ++i) {
      pieces.push_back(std::make_unique<char[]>(1000));
      pieces.back()[0] = 1;
    }
    const std::unique_ptr<char[]> last = std::move(pieces.back());
    pieces.clear();
    pieces.shrink_to_fit();
    const long before = resident("RssAnon");
    release_free_memory();
    const long after = resident("RssAnon");
    CPPUNIT_ASSERT_MESSAGE(std::to_string(before) + " -> " + std::to_string(after), before - after > 24 * 1024);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(MemoryTest);

}  // namespace memory_test
}  // namespace sluice::base
