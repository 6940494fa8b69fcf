// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The build with the thread sanitizer has only the tests that test/subdir.am lists in unit_threaded_sources. Here a
// test that starts a thread fails if its file is not listed. Builds with sanitizers have no such check: a sanitizer
// replaces pthread_create itself.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "test/unit/test_watch.hpp"

#if defined(__has_feature)
#define SLUICE_HAS_FEATURE(name) __has_feature(name)
#else
#define SLUICE_HAS_FEATURE(name) 0
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !SLUICE_HAS_FEATURE(address_sanitizer) && \
    !SLUICE_HAS_FEATURE(thread_sanitizer)

namespace sluice::test::thread_check {
namespace {

std::atomic<int> started{0};

// NAME_test.cpp for a test in a namespace NAME_test, which is how files of tests name their namespaces; otherwise
// empty.
std::string file_of(std::string_view test) {
  const auto end = test.find("_test::");
  if (end == std::string_view::npos) return {};
  const auto colon = test.rfind(':', end);
  const auto begin = colon == std::string_view::npos ? 0 : colon + 1;
  return std::string(test.substr(begin, end - begin)) + "_test.cpp";
}

// The value of unit_threaded_sources; empty if the file or the variable is missing.
std::string listed_files(const char* source) {
  std::ostringstream text;
  text << std::ifstream(std::string(source) + "/test/subdir.am").rdbuf();
  const std::string all = text.str();
  const auto begin = all.find("unit_threaded_sources =");
  return begin == std::string::npos ? std::string() : all.substr(begin, all.find("\n\n", begin) - begin);
}

// Without SLUICE_SRCDIR, which `make check` sets, nothing is checked.
std::string check(const std::string& test) {
  static const char* const source = std::getenv("SLUICE_SRCDIR");
  if (started == 0 || source == nullptr) return {};
  static const std::string listed = listed_files(source);
  const std::string file = file_of(test);
  if (!file.empty() && listed.find("/" + file) != std::string::npos) return {};
  return "the test starts a thread, and unit_threaded_sources in test/subdir.am does not list " +
         (file.empty() ? "its file (a namespace NAME_test names it)" : file) +
         "; list it, so that the thread sanitizer checks it";
}

const bool registered = [] {
  test_watch = {[] { started = 0; }, check};
  return true;
}();

}  // namespace
}  // namespace sluice::test::thread_check

// Replaces the C library's for the whole program. std::thread and other libraries call it, too.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  ++sluice::test::thread_check::started;
  return create(thread, attributes, function, argument);
}

#endif
