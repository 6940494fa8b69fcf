// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What an answer other than 200, or an ERROR event, means to somebody who lists and
// watches (BEH 1.5), and its words for people. Pure.
#pragma once

#include <string>

#include "core/kube/decode/decode.hpp"
#include "core/kube/watch/resource.hpp"

namespace sluice::kube {

// "the API server https://a answers 403 Forbidden: "…""
std::string refusal_text(const std::string& server, const ApiStatus& refusal);
// What to do about it, to be added to the sentence; empty if nobody has to do anything.
std::string refusal_remedy(const ApiStatus& refusal, const Resource& resource);

// The version asked for is gone, or is one the server has not reached: only its newest helps.
bool lost_version(const ApiStatus& refusal);
// Somebody in between, or the credentials: nothing is wrong with what was asked.
bool worth_repeating(const ApiStatus& refusal);
// The server does not understand what was asked.
bool not_understood(const ApiStatus& refusal);
// The server may not know the resource at all. One that has no such group may deny the
// access before it notices.
bool maybe_no_such_resource(const ApiStatus& refusal);
// An older server that cannot select by this field.
bool unknown_field_label(const ApiStatus& refusal);

}  // namespace sluice::kube
