// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: the dynamic linker never lets go of it. Built twice: STAYS_UNIQUE exports a symbol
// that is the same one in every library (STB_GNU_UNIQUE); otherwise it is linked with -z nodelete.
#include "zoo.hpp"

#ifdef STAYS_UNIQUE
#define STAYS_ID "stays_unique"
template <class T>
struct Shared {
  [[gnu::visibility("default")]] static inline int count = 0;
};
#else
#define STAYS_ID "stays_nodelete"
#endif

class Stays final : public zoo::PlainBackend {
 public:
  explicit Stays(const zoo::abi::CreateArgs& args) : PlainBackend(args) {
#ifdef STAYS_UNIQUE
    ++Shared<Stays>::count;
#endif
  }
};

SLUICE_PLUGIN_ENTRY = zoo::entry(STAYS_ID, &zoo::sdk::create<Stays>);
