// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/http/accept_header.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "lib/text.hpp"

namespace sluice::observe {
namespace {

struct Weighted {
  AcceptClause clause;
  double q = 1;
};

Weighted parse_clause(std::string_view text) {
  Weighted out;
  bool first = true;
  while (!text.empty()) {
    const std::string_view part = lib::trimmed(lib::take_part(text, ';'));
    const auto at = part.find(std::exchange(first, false) ? '/' : '=');
    if (at == std::string_view::npos) continue;
    const std::string_view before = lib::trimmed(part.substr(0, at));
    const std::string_view after = lib::trimmed(part.substr(at + 1));
    if (part[at] == '/') {
      out.clause.type = before;
      out.clause.subtype = after;
    } else if (before == "q") {
      out.q = std::strtod(std::string(after).c_str(), nullptr);
    } else {
      out.clause.parameters.emplace(before, after);
    }
  }
  return out;
}

}  // namespace

bool AcceptClause::matches(std::string_view wanted_type, std::string_view wanted_subtype) const {
  if (type == "*") return subtype == "*";
  return type == wanted_type && (subtype == wanted_subtype || subtype == "*");
}

std::string AcceptClause::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? std::string() : found->second;
}

std::vector<AcceptClause> parse_accept(std::string_view header) {
  std::vector<Weighted> found;
  while (!header.empty()) {
    Weighted one = parse_clause(lib::take_part(header, ','));
    if (!one.clause.type.empty() && !one.clause.subtype.empty()) found.push_back(std::move(one));
  }
  std::stable_sort(found.begin(), found.end(), [](const Weighted& a, const Weighted& b) { return a.q > b.q; });
  std::vector<AcceptClause> out;
  for (Weighted& one : found) out.push_back(std::move(one.clause));
  return out;
}

}  // namespace sluice::observe
