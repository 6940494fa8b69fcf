// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The effective configuration as text: what --write-config-to writes and /configz
// answers. Reading it back gives the same settings, but for what tell_not_written() tells.
#pragma once

#include <string>

#include "core/config/draft.hpp"
#include "core/config/settings.hpp"

namespace sluice::config {

// KubeProxyConfiguration with every field, defaults filled in, in the order and the
// form kube-proxy prints it. `settings` as validate() made them of `draft`.
std::string kube_proxy_json(const Draft& draft, const Settings& settings);

// The same as YAML, followed by SluiceConfiguration when that says anything.
std::string configuration_yaml(const Draft& draft, const Settings& settings);

// Warns of what the command line says and no field of kube-proxy's file can.
void tell_not_written(const Draft& draft, const Settings& settings, Problems& problems);

}  // namespace sluice::config
