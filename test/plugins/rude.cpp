// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: returns an unknown code, an unterminated error text, and control characters; fails without a reason.
#include <cstring>

#include "zoo.hpp"

class Rude final : public zoo::PlainBackend {
 public:
  using PlainBackend::PlainBackend;

 private:
  using Code = zoo::abi::Code;
  using Error = zoo::abi::Error;
  Code do_probe(Error*) override { return static_cast<Code>(-3); }
  Code do_verify(Error* error) override {
    std::memset(error->object, 0x6f, sizeof(error->object));
    std::memset(error->message, 0x6d, sizeof(error->message));
    return Code::kNeedFull;
  }
  Code do_retire(const zoo::abi::Handover&, Error*) override { return Code::kRetry; }
  Code do_cleanup(Error* error) override { return zoo::sdk::fail(error, Code::kKernel, "", "two\nlines\x1b[31m"); }
};

SLUICE_PLUGIN_ENTRY = zoo::entry("rude", &zoo::sdk::create<Rude>);
