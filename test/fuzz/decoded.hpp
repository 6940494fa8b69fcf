// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the decoders made of an object, as text to compare, and what must hold of it.
#pragma once

#include <string>

#include "core/kube/decode/decode.hpp"

namespace sluice::fuzz {

std::string describe_decoded(const kube::Decoded& decoded);

// Ends the process unless the object is one the store can take, or the refusal says why.
void require_sound(const kube::Decoded& decoded);
void require_sound(const kube::Object& object);

}  // namespace sluice::fuzz
