// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parts of validate(), one subject each: they check the values of the draft, copy them to the settings, and report
// errors.
#pragma once

#include "core/config/draft.hpp"
#include "core/config/option.hpp"
#include "core/config/problems.hpp"
#include "core/config/settings.hpp"

namespace sluice::config {

// The addresses of the health and metrics servers with a port, as in kube-proxy; empty if port 0 turns the server off.
std::string effective_healthz(const Draft& draft);
std::string effective_metrics(const Draft& draft);

// Applies the check of an option, or of all options of a group.
void check_option(const Option& option, const Draft& draft, Problems& problems);
void check_options(FlagGroup group, const Draft& draft, Problems& problems);

void validate_serving(const Draft& draft, Settings& out, Problems& problems);
void validate_feature_gates(const Draft& draft, Settings& out, Problems& problems);
void validate_logging(const Draft& draft, Settings& out, Problems& problems);
// Options for the backend of a mode. REQUIRES: out.backend is final.
void validate_mode_options(const Draft& draft, Settings& out, Problems& problems);
// Adds a warning for each setting that is set but has no effect.
void warn_without_effect(const Draft& draft, const Settings& out, Problems& problems);

}  // namespace sluice::config
