// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: create() returns an unknown code and an invalid pointer, as a foreign runtime might after catching
// an exception.
#include "zoo.hpp"

static zoo::abi::Code create(const zoo::abi::CreateArgs*, zoo::abi::Backend** out, zoo::abi::Error*) noexcept {
  *out = reinterpret_cast<zoo::abi::Backend*>(1);
  return static_cast<zoo::abi::Code>(99);
}

SLUICE_PLUGIN_ENTRY = zoo::entry("create_garbage", &create);
