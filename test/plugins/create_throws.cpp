// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: the constructor of the backend throws; the SDK must catch the exception.
#include <stdexcept>

#include "zoo.hpp"

class Thrower final : public zoo::PlainBackend {
 public:
  explicit Thrower(const zoo::abi::CreateArgs& args) : PlainBackend(args) {
    throw std::runtime_error("no such animal");
  }
};

SLUICE_PLUGIN_ENTRY = zoo::entry("create_throws", &zoo::sdk::create<Thrower>);
