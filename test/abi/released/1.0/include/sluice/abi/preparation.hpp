// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends that need settings of the kernel which take more privileges than rules do.
#pragma once

#include "sluice/abi/node.hpp"

namespace sluice::abi {

// The id for Backend::extension(); what it returns is a `Preparation*`, valid as
// long as the backend.
inline constexpr char kPreparation[] = "sluice.backend.preparation/1";

// "sluice.backend.preparation/1".
//
// `sluiced --init-only` runs with every privilege before a daemon that has CAP_NET_ADMIN
// alone: what that one may not write any more is written here.
// Complete as it is: it will never grow.
class Preparation {
 public:
  // Writes the sysctls the backend needs and loads the modules; makes no rule and nothing
  // else that would have to be removed. The first apply() does the same by itself where it
  // may. What cannot be written is a warning through the host each; only what makes every
  // apply() fail is a failure, told in `error`, which is never null.
  // `node`: what is known without a cluster, which is its flags; the rest may be empty. Never null.
  // Called after a probe() that succeeded, on the apply thread. Limit: 10 s.
  virtual Code prepare(const NodeFacts* node, Error* error) noexcept = 0;

 protected:
  ~Preparation() = default;
};

}  // namespace sluice::abi
