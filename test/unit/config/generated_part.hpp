// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The part of a document between two marks that a test generates. With SLUICE_WRITE_DOCS=1 the test writes it.
#pragma once

#include <cppunit/TestAssert.h>

#include <cstdlib>
#include <string>

#include "lib/files.hpp"

namespace sluice::test {

// `begin`: the line before the part.
inline void require_generated_part(const std::string& document, const std::string& begin, const std::string& part) {
  const std::string end = "<!-- end of what is made -->\n";
  const char* source = std::getenv("SLUICE_SRCDIR");
  const std::string path = std::string(source == nullptr ? "." : source) + "/" + document;
  const auto text = lib::read_file(path);
  CPPUNIT_ASSERT_MESSAGE(text.status().message(), text.ok());
  const auto mark = text->find(begin);
  const auto at = mark + begin.size();
  const auto until = mark == std::string::npos ? mark : text->find(end, at);
  CPPUNIT_ASSERT_MESSAGE(document + " lacks the marks", until != std::string::npos);
  if (std::getenv("SLUICE_WRITE_DOCS") != nullptr) {
    CPPUNIT_ASSERT(lib::write_file_atomically(path, text->substr(0, at) + part + text->substr(until)).ok());
    return;
  }
  CPPUNIT_ASSERT_EQUAL_MESSAGE("run the unit tests with SLUICE_WRITE_DOCS=1", part, text->substr(at, until - at));
}

}  // namespace sluice::test
