// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Values → Kubernetes' own JSON form of the object, the reverse of decode.hpp: what is
// decoded from it equals what it was made of. Only the fields a decoder reads are
// written, and of those only the ones that differ from their default. Pure.
#pragma once

#include <string>

#include "core/kube/decode/decode.hpp"

namespace sluice::kube {

// One line, without a line feed.
std::string encode_object(const Object& object);

// The metadata alone: which object is meant.
std::string encode_reference(model::ResourceKind kind, const model::ObjectName& name);

}  // namespace sluice::kube
