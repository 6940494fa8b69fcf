// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Fields of an answer of the daemon, for people. One that is missing or of another type is "-": daemon and sluicectl
// may differ in version.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sluice::ctl {

// Null where there is no such member.
const nlohmann::json& member(const nlohmann::json& object, std::string_view key);

// Texts quote names of objects; a terminal must not obey them.
std::string harmless(std::string text);

std::string text(const nlohmann::json& value);
std::string text(const nlohmann::json& object, std::string_view key);

// A number of seconds, as "4.2 ms".
std::string duration(const nlohmann::json& seconds);

}  // namespace sluice::ctl
