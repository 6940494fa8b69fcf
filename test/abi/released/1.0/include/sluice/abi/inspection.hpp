// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends that can tell what is programmed, in words.
#pragma once

#include "sluice/abi/backend.hpp"

namespace sluice::abi {

// The id for Backend::extension(); what it returns is an `Inspection*`, valid as
// long as the backend.
inline constexpr char kInspection[] = "sluice.backend.inspection/1";

// "sluice.backend.inspection/1".
//
// `sluicectl services` shows it to people. The text is for them: it may change.
// Complete as it is: it will never grow.
class Inspection {
 public:
  // What the kernel has for each service port, read from there: one line for each frontend,
  // "shop/cart:http 172.30.0.41:80/tcp -> 10.180.0.1:80, 10.180.2.1:80", what does not
  // belong to any of them last. `name` limits it to what is printed with that name,
  // "shop/cart" or "shop/cart:http"; empty: everything. What does not exist is no line.
  // On the apply thread. Limit: 10 s.
  virtual Code services(StringView name, StringSink* lines, Error* error) noexcept = 0;

 protected:
  ~Inspection() = default;
};

}  // namespace sluice::abi
