// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A transaction: the change of the desired state from one generation to the next.
#pragma once

#include "sluice/abi/node.hpp"
#include "sluice/abi/service.hpp"

namespace sluice::abi {

// A new kind is passed only to backends that announce support for it with a feature.
enum class TransactionKind : std::uint32_t {
  kFull = 0,   // service_ports is complete; the backend must delete every object that is not listed
  kDelta = 1,  // service_ports are new or changed, removed were deleted, all others are unchanged
};

// Growing. Valid and immutable during the call. A backend must return Code::kNeedFull for a delta if `base_generation` is
// not its last applied generation. It may return kNeedFull for any delta, for example if facts about the node changed on
// which all objects depend. This is not a failure: the full transaction follows at once.
// For a full transaction, a backend must read the kernel and write only the differences, so that a restart without drift
// writes nothing.
// Keys are sorted by namespace, service and port name in byte order, then by protocol number.
struct Transaction {
  std::uint32_t struct_size;
  TransactionKind kind;
  std::uint64_t base_generation;  // delta only
  std::uint64_t generation;       // starts at 1 for each object; a full transaction without changes repeats the last one
  const NodeFacts* node;          // never null
  ArrayView service_ports;        // ServicePort, sorted by key; may be empty, for example if only `node` changed
  ArrayView removed;              // ServicePortKey, delta only, sorted by key; disjoint from service_ports
  // Since minor 1. The value of Host::now() at which the limit of the call is exceeded; 0: no limit. A backend should not
  // wait beyond it, for example for a lock, but may complete work that makes progress.
  std::uint64_t deadline;
  // Since minor 1. Null, or a word that another thread of the daemon sets to a value other than 0 when the result is no
  // longer needed: the daemon stops, another backend takes over, or a swap is rolled back. It may be set before the call.
  // Must be read atomically, and only during the call. The backend should then return kRetry soon, which is no failure
  // and not logged as one; kOk is valid, too. It need not undo what it has written: it must leave a state that it may
  // leave after a failure, from which the next full transaction, of this object or of a later process, or retire() can
  // continue.
  const std::uint32_t* cancelled;
};
static_assert(sizeof(Transaction) == 96 && offsetof(Transaction, base_generation) == 8 &&
              offsetof(Transaction, generation) == 16 && offsetof(Transaction, node) == 24 &&
              offsetof(Transaction, service_ports) == 32 && offsetof(Transaction, removed) == 56 &&
              offsetof(Transaction, deadline) == 80 && offsetof(Transaction, cancelled) == 88);

// Growing. Statistics of one apply(). The caller sets struct_size and zeroes the rest. It is also read after a failure.
struct ApplyResult {
  std::uint32_t struct_size;
  std::uint32_t reserved;
  std::uint64_t kernel_writes;       // messages or rule lines that changed the kernel; 0: no difference
  std::uint64_t objects_owned;       // number of owned rules, chains and elements; undefined after a failure
  std::uint64_t kernel_nanoseconds;  // time spent waiting for the kernel (see Code); 0: not measured
};
static_assert(sizeof(ApplyResult) == 32 && offsetof(ApplyResult, kernel_writes) == 8 &&
              offsetof(ApplyResult, kernel_nanoseconds) == 24);

}  // namespace sluice::abi
