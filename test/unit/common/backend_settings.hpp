// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of the settings of all backends share.
#pragma once

#include <cppunit/TestAssert.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "sluice/sdk/error.hpp"
#include "sluice/sdk/options.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::test {

using Given = std::vector<std::pair<std::string, std::string>>;

inline sdk::Options as_options(const Given& given) {
  std::vector<abi::Option> flat;
  for (const auto& [key, value] : given) flat.push_back({sdk::view(key), sdk::view(value)});
  return sdk::Options(sdk::array(flat.data(), flat.size()));
}

// "key: sentence" if `read` refuses the settings, or empty.
template <class Read>
std::string refusal_of(const Read& read) {
  try {
    read();
  } catch (const sdk::Failure& failure) {
    CPPUNIT_ASSERT(failure.code() == abi::Code::kInvalid);
    const std::string out = failure.object() + ": " + failure.what();
    CPPUNIT_ASSERT_MESSAGE(out + " does not fit", out.size() < 512);
    return out;
  }
  return {};
}

// Checks that the section of docs/operations.md has these keys and defaults.
template <class Keys>
void expect_documented(const Keys& keys, const std::string& section) {
  const char* folder = std::getenv("SLUICE_SRCDIR");
  CPPUNIT_ASSERT_MESSAGE("SLUICE_SRCDIR is not set", folder != nullptr);
  std::ifstream file(std::string(folder) + "/docs/operations.md");
  const std::regex row(R"(\| `([A-Za-z.]+)` \| (?:`([^`]*)`)? ?\| [^|]+ \|)");
  std::map<std::string, std::string> documented;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## " + section;
    if (std::smatch match; inside && std::regex_match(line, match, row)) documented[match[1]] = match[2];
  }
  std::map<std::string, std::string> known;
  for (const auto& key : keys) known.emplace(key.key, key.as_default);
  for (const auto& [key, value] : known) {
    CPPUNIT_ASSERT_MESSAGE(key + " is not in docs/operations.md", documented.contains(key));
    CPPUNIT_ASSERT_EQUAL_MESSAGE(key, value, documented[key]);
  }
  CPPUNIT_ASSERT_EQUAL(known.size(), documented.size());
}

}  // namespace sluice::test
