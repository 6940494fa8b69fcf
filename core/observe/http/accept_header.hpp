// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the header Accept of a request says. Pure; accepts any text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::observe {

struct AcceptClause {
  std::string type;                               // "application" or "*"
  std::string subtype;                            // "json" or "*"
  std::map<std::string, std::string> parameters;  // without q

  // Whether it asks for this type, also by a wildcard.
  bool matches(std::string_view wanted_type, std::string_view wanted_subtype) const;
  // Empty when it is not there.
  std::string parameter(const std::string& name) const;
};

// In the order of their q, those with the same in the order of the header. What is not of the form "type/subtype" is
// left out.
std::vector<AcceptClause> parse_accept(std::string_view header);

}  // namespace sluice::observe
