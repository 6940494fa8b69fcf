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

// The options as a daemon of minor 0 passes them, valid for the full expression. `given` must outlive it.
class AsOptions {
 public:
  explicit AsOptions(const Given& given) {
    for (const auto& [key, value] : given) flat_.push_back({sdk::view(key), sdk::view(value), {}, 0, 0});
  }
  operator abi::ArrayView() const { return sdk::array(flat_.data(), flat_.size()); }

 private:
  std::vector<abi::Option> flat_;
};

// A valid value of an option, or of each element of a list, as keys and texts.
inline Given default_of(const abi::OptionSpec& spec) {
  Given out;
  for (const std::string_view value : sdk::default_values(spec)) {
    out.emplace_back(std::string(sdk::option_name(spec)) +
                         (sdk::is_list(spec) ? "[" + std::to_string(out.size()) + "]" : ""),
                     value);
  }
  return out;
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

// The daemon accepts the table. docs/reference/fields.md has its texts.
inline void expect_described(const abi::ArrayView& table) {
  CPPUNIT_ASSERT_EQUAL(std::string(), sdk::table_problem(table));
  std::string before;
  for (const abi::OptionSpec& spec : sdk::rows(table)) {
    const std::string name(sdk::option_name(spec));
    CPPUNIT_ASSERT_MESSAGE(name + " is not sorted", before < name);
    CPPUNIT_ASSERT_MESSAGE(name, sdk::allowed_text(spec).find("any text") == std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(name, sdk::text(spec.help).ends_with('.'));
    before = name;
  }
}

}  // namespace sluice::test
