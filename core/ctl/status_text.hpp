// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The status of the daemon as text. No I/O. A field that is missing or of another type is "-", since the versions of
// daemon and sluicectl may differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sluice::ctl {

std::string status_text(const nlohmann::json& status);

// Whether the rules of every family are written: the last attempt succeeded, and no call of the backend is overdue.
bool all_synced(const nlohmann::json& status);

}  // namespace sluice::ctl
