// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decoded objects as text for comparison, and their invariants.
#pragma once

#include <string>

#include "core/kube/decode/decode.hpp"

namespace sluice::fuzz {

std::string describe_decoded(const kube::Decoded& decoded);

// Aborts the process unless the store can take the object, or its refusal has a reason.
void require_sound(const kube::Decoded& decoded);
void require_sound(const kube::Object& object);

}  // namespace sluice::fuzz
