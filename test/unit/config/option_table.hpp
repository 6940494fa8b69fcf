// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every flag and every field of KubeProxyConfiguration: default, another value, the resulting setting, and the rejected
// values with their errors. option_table_test.cpp tests all rows;
// docs/reference/errors.md is generated from them.
#pragma once

#include <string>
#include <vector>

#include "core/config/flag_table.hpp"
#include "core/config/settings.hpp"

namespace sluice::test {

struct Refused {
  std::string value;    // value of the flag
  std::string message;  // after "--flag: " or "file:line: field: "
  std::string yaml{};   // value in the file, if it differs
};

struct Option {
  std::string flag;   // empty: only a field
  std::string field;  // empty: only a flag
  config::FlagKind kind = config::FlagKind::text;
  std::string by_default;   // in the effective configuration
  std::string other;        // another value of the flag
  std::string effective{};  // `other` in the effective configuration; empty: the same
  std::string yaml{};       // `other` in the file, if it differs
  std::vector<Refused> refused{};
  // Additional flags and fields that `other` and the rejected values need.
  std::vector<std::string> flags_besides{};
  std::string yaml_besides{};
  // Returns the setting in the format of the effective configuration; null: not in the settings.
  std::string (*arrives)(const config::Settings&) = nullptr;
};

const std::vector<Option>& option_table();

// Without flags and file: the KubeProxyConfiguration with every field, in kube-proxy's order and format.
std::string default_configuration();

}  // namespace sluice::test
