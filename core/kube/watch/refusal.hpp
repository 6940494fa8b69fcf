// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Classifies error responses and ERROR events for a reflector (BEH 1.5), and makes messages of them.
#pragma once

#include <string>

#include "core/kube/decode/decode.hpp"
#include "core/kube/watch/resource.hpp"

namespace sluice::kube {

// "the API server https://a answers 403 Forbidden: "…""
std::string refusal_text(const std::string& server, const ApiStatus& refusal);
// The remedy, to be appended to the message; empty if there is none.
std::string refusal_remedy(const ApiStatus& refusal, const Resource& resource);

// The requested resourceVersion has expired, or the server has not reached it: list the newest state.
bool version_expired(const ApiStatus& refusal);
// A proxy, overload or the credentials caused the error, not the request: repeat it.
bool is_transient(const ApiStatus& refusal);
// The server does not support the request.
bool is_unsupported_request(const ApiStatus& refusal);
// The server may not offer the resource: with an unknown API group it may answer 403 before 404.
bool maybe_no_such_resource(const ApiStatus& refusal);
// An older server that does not support this field selector.
bool unknown_field_label(const ApiStatus& refusal);

}  // namespace sluice::kube
