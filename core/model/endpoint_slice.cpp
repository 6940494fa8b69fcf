// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/model/endpoint_slice.hpp"

#include <algorithm>
#include <string>

#include "lib/text.hpp"

namespace sluice::model {

base::Symbol pack_names(std::vector<std::string_view> names) {
  std::sort(names.begin(), names.end());
  std::string joined;
  for (const auto name : names) {
    if (!joined.empty()) joined += '\n';
    joined += name;
  }
  return base::Symbol(joined);
}

bool packed_contains(base::Symbol packed, std::string_view name) {
  std::string_view rest = packed.text();
  while (!rest.empty()) {
    if (lib::take_part(rest, '\n') == name) return true;
  }
  return false;
}

}  // namespace sluice::model
