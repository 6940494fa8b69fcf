// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: calls an undefined function; linked without -z defs.
#include "zoo.hpp"

extern "C" void sluice_zoo_is_defined_nowhere();

class Unresolved final : public zoo::PlainBackend {
 public:
  explicit Unresolved(const zoo::abi::CreateArgs& args) : PlainBackend(args) { sluice_zoo_is_defined_nowhere(); }
};

SLUICE_PLUGIN_ENTRY = zoo::entry("unresolved_symbol", &zoo::sdk::create<Unresolved>);
