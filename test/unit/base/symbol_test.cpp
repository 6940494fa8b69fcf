// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/symbol.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::base {
namespace symbol_test {

std::string name(int number) { return "name-" + std::to_string(number) + "-that-is-too-long-to-be-kept-in-place"; }

class SymbolTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SymbolTest);
  CPPUNIT_TEST(symbols_are_equal_when_their_text_is);
  CPPUNIT_TEST(a_text_stays_while_one_symbol_holds_it);
  CPPUNIT_TEST(texts_without_a_symbol_are_freed);
  CPPUNIT_TEST(threads_share_texts);
  CPPUNIT_TEST_SUITE_END();

 public:
  void symbols_are_equal_when_their_text_is() {
    CPPUNIT_ASSERT(Symbol("zone-a") == Symbol(std::string("zone-") + "a"));
    CPPUNIT_ASSERT(!(Symbol("zone-a") == Symbol("zone-b")));
    CPPUNIT_ASSERT(Symbol("").empty() && Symbol() == Symbol(""));
    CPPUNIT_ASSERT_EQUAL(std::string("zone-a"), std::string(Symbol("zone-a").text()));
  }

  void a_text_stays_while_one_symbol_holds_it() {
    const std::size_t before = Symbol::held();
    Symbol first(name(1));
    const Symbol copy(first);
    Symbol moved(std::move(first));
    CPPUNIT_ASSERT_EQUAL(before + 1, Symbol::held());
    moved = Symbol(name(2));
    CPPUNIT_ASSERT_EQUAL(before + 2, Symbol::held());
    CPPUNIT_ASSERT_EQUAL(name(1), std::string(copy.text()));
    const Symbol& self = moved;
    moved = self;
    CPPUNIT_ASSERT_EQUAL(name(2), std::string(moved.text()));
    moved = copy;
    CPPUNIT_ASSERT_EQUAL(before + 1, Symbol::held());
    CPPUNIT_ASSERT(moved == copy && moved == Symbol(name(1)));
  }

  void texts_without_a_symbol_are_freed() {
    const std::size_t before = Symbol::held();
    std::uint32_t highest = 0;
    for (int round = 0; round < 20; ++round) {
      std::vector<Symbol> symbols;
      for (int i = 0; i < 2000; ++i) symbols.emplace_back(name(round * 2000 + i));
      CPPUNIT_ASSERT_EQUAL(before + 2000, Symbol::held());
      for (int i = 0; i < 2000; ++i) CPPUNIT_ASSERT_EQUAL(name(round * 2000 + i), std::string(symbols[i].text()));
      if (round == 0) {
        for (const Symbol& one : symbols) highest = std::max(highest, one.id());
      }
      for (const Symbol& one : symbols) CPPUNIT_ASSERT(one.id() <= highest + 2000);  // numbers are reused
    }
    CPPUNIT_ASSERT_EQUAL(before, Symbol::held());
  }

  void threads_share_texts() {
    const std::size_t before = Symbol::held();
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&wrong, thread] {
        std::vector<Symbol> kept(16);
        for (int i = 0; i < 20'000; ++i) {
          Symbol one(name(i % 50));
          kept[i % kept.size()] = one;
          if (one.text() != name(i % 50)) ++wrong[thread];
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CPPUNIT_ASSERT(wrong == std::vector<int>(4));
    CPPUNIT_ASSERT_EQUAL(before, Symbol::held());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SymbolTest);

}  // namespace symbol_test
}  // namespace sluice::base
