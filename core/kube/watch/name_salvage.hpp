// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The identity of an object whose text cannot be parsed, because it is too large, cut off
// or damaged: found by reading along as far as the text makes sense. What comes out is a
// guess about whom a failure concerns, never content. Pure.
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

// Of an object, as in a list.
SalvagedHead salvage_object(std::string_view text);
// Of a watch event and the object in it.
SalvagedHead salvage_event(std::string_view text);

}  // namespace sluice::kube
