// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parts of validate(), one subject each: they check what the draft says of it, put it
// into the settings, and tell what is wrong.
#pragma once

#include "core/config/draft.hpp"
#include "core/config/problems.hpp"
#include "core/config/settings.hpp"

namespace sluice::config {

// The addresses of health and metrics as kube-proxy completes them: with a port, or
// empty when a port of 0 turns the server off.
std::string effective_healthz(const Draft& draft);
std::string effective_metrics(const Draft& draft);

void validate_serving(const Draft& draft, Settings& out, Problems& problems);
void validate_conntrack(const Draft& draft, Settings& out, Problems& problems);
void validate_feature_gates(const Draft& draft, Settings& out, Problems& problems);
void validate_logging(const Draft& draft, Settings& out, Problems& problems);
// What a backend named ipvs or userspace is told. REQUIRES: out.backend is final.
void validate_mode_options(const Draft& draft, Settings& out, Problems& problems);
// A warning for each setting that says something and cannot have an effect.
void tell_without_effect(const Draft& draft, const Settings& out, Problems& problems);

}  // namespace sluice::config
