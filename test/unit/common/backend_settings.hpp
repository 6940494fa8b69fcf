// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of the settings of all backends share.
#pragma once

#include <cppunit/TestAssert.h>

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
  for (const auto& [key, value] : given) flat.push_back({sdk::view(key), sdk::view(value), {}, 0, 0});
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

// docs/reference/fields.md has the texts of the keys.
template <class Keys>
void expect_described(const Keys& keys) {
  for (const auto& key : keys) {
    CPPUNIT_ASSERT_MESSAGE(std::string(key.key), !key.allowed.empty() && key.meaning.ends_with('.'));
  }
}

}  // namespace sluice::test
