// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Encodes objects as Kubernetes JSON, the inverse of decode.hpp: decoding the result gives an equal object. Writes only
// fields that the decoder reads and that differ from their default.
#pragma once

#include <string>

#include "core/kube/decode/decode.hpp"

namespace sluice::kube {

// One line, without a newline.
std::string encode_object(const Object& object);

// Only the metadata that identifies the object.
std::string encode_reference(model::ResourceKind kind, const model::ObjectName& name);

}  // namespace sluice::kube
