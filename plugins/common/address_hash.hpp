// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Hashes an address for unordered containers.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "sluice/abi/types.hpp"

template <>
struct std::hash<sluice::abi::Address> {
  std::size_t operator()(const sluice::abi::Address& address) const noexcept {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(address.bytes), sizeof(address.bytes)});
  }
};
