// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Finds the identity of an object that cannot be parsed (too large, truncated or malformed), by reading as far as the
// text is well-formed. The result is a guess, used only to name the object in errors.
#pragma once

#include <string>
#include <string_view>

namespace sluice::kube {

struct SalvagedHead {
  std::string type;  // of a watch event
  std::string kind;
  std::string name_space;
  std::string name;
  std::string resource_version;
};

// From the text of an object.
SalvagedHead salvage_object(std::string_view text);
// From the text of a watch event.
SalvagedHead salvage_event(std::string_view text);

}  // namespace sluice::kube
