// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One step from generation n to generation n+1 of what the node should do.
#pragma once

#include "sluice/abi/node.hpp"
#include "sluice/abi/service.hpp"

namespace sluice::abi {

// A kind that is not known is never passed without a feature that announces it.
enum class TransactionKind : std::uint32_t {
  kFull = 0,   // service_ports is everything; whatever else the backend holds is to go
  kDelta = 1,  // service_ports changed or are new, removed are gone, the rest stays
};

// Growing. Complete and immutable for the length of the call. A backend whose last applied
// generation is not `base_generation` answers a delta with Code::kNeedFull.
// kNeedFull in answer to a delta is no failure: the full transaction follows at once. A backend says so, too, where facts
// about the node changed on which everything depends.
// On a full transaction a backend reads the kernel and writes only the difference,
// so that a restart or a repair without drift writes nothing.
// Keys are sorted by namespace, service and port name, as bytes, and by protocol number.
struct Transaction {
  std::uint32_t struct_size;
  TransactionKind kind;
  std::uint64_t base_generation;  // delta only
  std::uint64_t generation;       // counts from 1 for each object; a full one without news repeats the last
  const NodeFacts* node;          // never null
  ArrayView service_ports;        // ServicePort, sorted by key; may be empty, where only `node` is news
  ArrayView removed;              // ServicePortKey, delta only, sorted by key; none of them is in service_ports
};
static_assert(sizeof(Transaction) == 80 && offsetof(Transaction, base_generation) == 8 &&
              offsetof(Transaction, generation) == 16 && offsetof(Transaction, node) == 24 &&
              offsetof(Transaction, service_ports) == 32 && offsetof(Transaction, removed) == 56);

// Growing. What one apply() cost. The caller sets struct_size and zeroes the rest; it is also read after a failure.
struct ApplyResult {
  std::uint32_t struct_size;
  std::uint32_t reserved;
  std::uint64_t kernel_writes;       // messages or rule lines that changed something; 0 = nothing was different
  std::uint64_t objects_owned;       // rules, chains, elements now owned; of no meaning after a failure
  std::uint64_t kernel_nanoseconds;  // spent waiting for the kernel, or what stands for it; 0 = not measured
};
static_assert(sizeof(ApplyResult) == 32 && offsetof(ApplyResult, kernel_writes) == 8 &&
              offsetof(ApplyResult, kernel_nanoseconds) == 24);

}  // namespace sluice::abi
