// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parses the Accept header of a request. Pure; accepts any text.
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

  // Whether it accepts this type, also by a wildcard.
  bool matches(std::string_view wanted_type, std::string_view wanted_subtype) const;
  // Empty if missing.
  std::string parameter(const std::string& name) const;
};

// Sorted by q; clauses with the same q stay in the order of the header. Skips clauses not of the form "type/subtype".
std::vector<AcceptClause> parse_accept(std::string_view header);

}  // namespace sluice::observe
