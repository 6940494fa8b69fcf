// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads the members of a request to the control socket.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace sluice::observe {

// The member of this type, or `otherwise` if it is missing. Throws std::runtime_error with `complaint` for another
// type.
template <class T>
T request_value(const nlohmann::json& request, const char* key, T otherwise, const char* complaint) {
  static_assert(std::is_same_v<T, bool> || std::is_same_v<T, std::string> || std::is_same_v<T, std::uint64_t>);
  const auto found = request.find(key);
  if (found == request.end()) return otherwise;
  const bool fits = std::is_same_v<T, bool>          ? found->is_boolean()
                    : std::is_same_v<T, std::string> ? found->is_string()
                                                     : found->is_number_unsigned();
  if (!fits) throw std::runtime_error(complaint);
  return found->template get<T>();
}

}  // namespace sluice::observe
