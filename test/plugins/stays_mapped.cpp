// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: the dynamic linker never unmaps it. Built twice: STAYS_UNIQUE exports an STB_GNU_UNIQUE symbol;
// otherwise it is linked with -z nodelete.
#include "zoo.hpp"

#ifdef STAYS_UNIQUE
#define STAYS_ID "stays_unique"
// The code of GCC for a static member of a template; clang does not create such symbols.
asm(R"(
  .pushsection .data
  .globl _ZN6Shared5countE
  .type _ZN6Shared5countE, @gnu_unique_object
  .size _ZN6Shared5countE, 4
  .balign 4
_ZN6Shared5countE:
  .long 0
  .popsection
)");
[[gnu::visibility("default")]] extern int shared_count asm("_ZN6Shared5countE");
#else
#define STAYS_ID "stays_nodelete"
#endif

class Stays final : public zoo::PlainBackend {
 public:
  explicit Stays(const zoo::abi::CreateArgs& args) : PlainBackend(args) {
#ifdef STAYS_UNIQUE
    ++shared_count;
#endif
  }
};

SLUICE_PLUGIN_ENTRY = zoo::entry(STAYS_ID, &zoo::sdk::create<Stays>);
