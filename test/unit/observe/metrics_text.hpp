// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads the text that /metrics serves, and files of the project.
#pragma once

#include <cppunit/TestAssert.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

namespace sluice::test {

// By "name{labels}", as the text has it.
inline std::map<std::string, std::string> samples(const std::string& text) {
  std::map<std::string, std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    const auto space = line.rfind(' ');
    const bool fresh = out.emplace(line.substr(0, space), line.substr(space + 1)).second;
    CPPUNIT_ASSERT_MESSAGE("twice: " + line, fresh);
  }
  return out;
}

inline std::string file_of_project(const std::string& path) {
  const char* folder = std::getenv("SLUICE_SRCDIR");
  std::ifstream file(std::string(folder == nullptr ? "." : folder) + "/" + path);
  CPPUNIT_ASSERT_MESSAGE("cannot read " + path, file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace sluice::test
