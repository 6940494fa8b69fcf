// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Finds objects that the dynamic linker has mapped. Any thread.
#pragma once

#include <optional>
#include <string>

namespace sluice::plugin {

struct MappedObject {
  std::string name;  // the name in the dynamic linker
  // The properties of the object for which dlclose() does not unmap it, as text.
  std::string pinned_by;  // empty: none
};

// The object that contains `address`, if any.
std::optional<MappedObject> mapped_object(const void* address);

}  // namespace sluice::plugin
