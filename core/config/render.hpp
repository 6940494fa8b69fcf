// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The effective configuration as text, for --write-config-to and /configz. Reading it back gives the same settings,
// except those that warn_not_written() reports.
#pragma once

#include <string>

#include "core/config/draft.hpp"
#include "core/config/settings.hpp"

namespace sluice::config {

// KubeProxyConfiguration with all fields, including defaults, in kube-proxy's order and format. `settings`: the result
// of validate() for `draft`.
std::string kube_proxy_json(const Draft& draft, const Settings& settings);

// The same as YAML, followed by SluiceConfiguration if any of its fields is set.
std::string configuration_yaml(const Draft& draft, const Settings& settings);

// Warns about values of the command line that kube-proxy's file format cannot express.
void warn_not_written(const Draft& draft, const Settings& settings, Problems& problems);

}  // namespace sluice::config
