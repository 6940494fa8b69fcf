// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// --config: a YAML (or JSON) stream of up to two documents. The first is kube-proxy's KubeProxyConfiguration, read as
// in kube-proxy. The second is SluiceConfiguration, which kube-proxy does not read; it is always strict.
#pragma once

#include <string>
#include <string_view>

#include "core/config/draft.hpp"
#include "core/config/problems.hpp"

namespace sluice::config {

struct ConfigFileOptions {
  bool strict = false;  // unknown, repeated and unsupported fields of the first document are errors
};

void read_config_file(const std::string& path, const ConfigFileOptions& options, Draft& draft, Problems& problems);

// The same for a text; `name` replaces the file name in messages.
void read_config_text(const std::string& text, const std::string& name, const ConfigFileOptions& options, Draft& draft,
                      Problems& problems);

}  // namespace sluice::config
