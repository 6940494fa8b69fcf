// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends that need kernel settings which require more privileges than rules.
#pragma once

#include "sluice/abi/node.hpp"

namespace sluice::abi {

// The id for Backend::extension(), which returns a `Preparation*`. It is valid until the backend is released.
inline constexpr char kPreparation[] = "sluice.backend.preparation/1";

// "sluice.backend.preparation/1".
//
// `sluiced --init-only` runs with all privileges before a daemon that has only CAP_NET_ADMIN. It applies the settings that
// the daemon itself must not write. This class never grows.
class Preparation {
 public:
  // Writes the sysctls that the backend needs, and loads kernel modules. It must not create rules or other objects that
  // would have to be removed. The first apply() must do the same, if its privileges suffice. A setting that cannot be
  // written is a warning through the host; an error must be returned only if every apply() would fail.
  // `node` has the facts that are known without a cluster, which are its flags; other fields may be empty. `node` and
  // `error` are never null. Called on the apply thread after a successful probe(). Limit: 10 s.
  virtual Code prepare(const NodeFacts* node, Error* error) noexcept = 0;

 protected:
  ~Preparation() = default;
};

}  // namespace sluice::abi
