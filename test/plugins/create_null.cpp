// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: create() returns kOk without a backend.
#include "zoo.hpp"

static zoo::abi::Code create(const zoo::abi::CreateArgs*, zoo::abi::Backend** out, zoo::abi::Error*) noexcept {
  *out = nullptr;
  return zoo::abi::Code::kOk;
}

SLUICE_PLUGIN_ENTRY = zoo::entry("create_null", &create);
