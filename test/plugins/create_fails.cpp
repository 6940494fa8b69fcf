// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: create() fails with a code and an error.
#include "zoo.hpp"

static zoo::abi::Code create(const zoo::abi::CreateArgs*, zoo::abi::Backend** out, zoo::abi::Error* error) noexcept {
  *out = nullptr;
  return zoo::sdk::fail(error, zoo::abi::Code::kDenied, "zoo", "the cage is locked", 13);
}

SLUICE_PLUGIN_ENTRY = zoo::entry("create_fails", &create);
