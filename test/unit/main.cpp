// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Runs every registered CppUnit test and prints TAP with one line per test method. Arguments select tests whose name
// contains one of them, --exact NAME those of that name.
#include <cppunit/Test.h>
#include <cppunit/TestFailure.h>
#include <cppunit/TestListener.h>
#include <cppunit/TestResult.h>
#include <cppunit/SourceLine.h>
#include <cppunit/Exception.h>
#include <cppunit/extensions/TestFactoryRegistry.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "test/unit/skip.hpp"
#include "test/unit/test_watch.hpp"

namespace {

class TapListener : public CppUnit::TestListener {
 public:
  void startTest(CppUnit::Test*) override {
    if (sluice::test::test_watch.begin != nullptr) sluice::test::test_watch.begin();
    failure_.clear();
    sluice::test::skip_reason.clear();
  }

  void addFailure(const CppUnit::TestFailure& failure) override {
    failure_ = failure.sourceLine().fileName() + ":" + std::to_string(failure.sourceLine().lineNumber()) + ": " +
               failure.thrownException()->what();
  }

  void endTest(CppUnit::Test* test) override {
    ++count_;
    if (failure_.empty() && sluice::test::test_watch.end != nullptr) failure_ = sluice::test::test_watch.end(test->getName());
    const std::string& skipped = sluice::test::skip_reason;
    if (failure_.empty()) {
      std::printf("ok %d - %s%s%s\n", count_, test->getName().c_str(), skipped.empty() ? "" : " # SKIP ",
                  skipped.c_str());
    } else {
      ++failed_;
      std::printf("not ok %d - %s\n", count_, test->getName().c_str());
      std::string line;
      for (const char c : failure_ + "\n") {
        if (c != '\n') {
          line += c;
          continue;
        }
        std::printf("# %s\n", line.c_str());
        line.clear();
      }
    }
    std::fflush(stdout);
  }

  int count() const { return count_; }
  int failed() const { return failed_; }

 private:
  int count_ = 0;
  int failed_ = 0;
  std::string failure_;
};

struct Filter {
  bool exact = false;
  std::vector<std::string> words;  // empty: every test

  bool takes(const std::string& name) const {
    if (words.empty()) return true;
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return exact ? name == word : name.find(word) != std::string::npos;
    });
  }
};

void run(CppUnit::Test& test, const Filter& filter, CppUnit::TestResult& result) {
  if (test.getChildTestCount() == 0) {
    if (filter.takes(test.getName())) test.run(&result);
    return;
  }
  for (int i = 0; i < test.getChildTestCount(); ++i) run(*test.getChildTestAt(i), filter, result);
}

}  // namespace

int main(int argc, char** argv) {
  const std::unique_ptr<CppUnit::Test> all(CppUnit::TestFactoryRegistry::getRegistry().makeTest());
  CppUnit::TestResult result;
  TapListener tap;
  result.addListener(&tap);
  Filter filter;
  filter.exact = argc > 1 && std::string(argv[1]) == "--exact";
  filter.words.assign(argv + (filter.exact ? 2 : 1), argv + argc);
  run(*all, filter, result);
  std::printf("1..%d\n", tap.count());
  return tap.failed() == 0 && tap.count() > 0 ? 0 : 1;
}
