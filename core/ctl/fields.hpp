// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Fields of a reply of the daemon as text. A field that is missing or of another type is "-", since the versions of
// daemon and sluicectl may differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sluice::ctl {

// Null if there is no such member.
const nlohmann::json& member(const nlohmann::json& object, std::string_view key);

// Replaces control characters, since names of objects must not control the terminal.
std::string sanitized(std::string text);

std::string text(const nlohmann::json& value);
std::string text(const nlohmann::json& object, std::string_view key);

// A number of seconds, as "4.2 ms".
std::string duration(const nlohmann::json& seconds);

}  // namespace sluice::ctl
