// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the dynamic linker has mapped, asked of itself. Any thread.
#pragma once

#include <optional>
#include <string>

namespace sluice::plugin {

struct MappedObject {
  std::string name;  // as it was given to the dynamic linker
  // Why dlclose() leaves it where it is, as the object itself says: one part of a sentence each.
  std::string pinned_by;  // empty: nothing in it
};

// The object in which `address` lies. Nothing: none.
std::optional<MappedObject> mapped_object(const void* address);

}  // namespace sluice::plugin
