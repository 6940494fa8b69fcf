// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every flag and every field of KubeProxyConfiguration: default, another value, where it
// arrives, and what is refused with which words. option_table_test.cpp goes through it,
// and the list of error messages in docs/operations.md is made from it.
#pragma once

#include <string>
#include <vector>

#include "core/config/flag_table.hpp"
#include "core/config/settings.hpp"

namespace sluice::test {

struct Refused {
  std::string value;    // as a flag has it
  std::string message;  // after "--flag: " or "file:line: field: "
  std::string yaml{};   // in the file, when written otherwise there
};

struct Option {
  std::string flag;   // empty: a field only
  std::string field;  // empty: a flag only
  config::FlagKind kind = config::FlagKind::text;
  std::string by_default;   // in the effective configuration
  std::string other;        // as a flag has it
  std::string effective{};  // what becomes of `other`; empty: the same
  std::string yaml{};       // `other` in the file, when written otherwise there
  std::vector<Refused> refused{};
  // What must be said besides, for `other` and for what is refused.
  std::vector<std::string> flags_besides{};
  std::string yaml_besides{};
  // Where it arrives, in words of the effective configuration; empty: not in the settings.
  std::string (*arrives)(const config::Settings&) = nullptr;
  std::string default_in_file{};  // when the file's default is another one
};

const std::vector<Option>& option_table();

}  // namespace sluice::test
