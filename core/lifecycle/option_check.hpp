// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Validates the options of a backend by the declarations in the descriptor of its plugin.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/config/validate.hpp"
#include "core/plugin/declared_options.hpp"
#include "lib/status.hpp"

namespace sluice::lifecycle {

// One thread at a time.
class OptionCheck {
 public:
  // The result is empty if the plugin declares nothing, or cannot be loaded, which its user reports. `running`: the daemon
  // runs, so that the file may be replaced while it is mapped.
  config::CheckedOptions check(const config::PluginSettings& plugins, const std::string& id,
                               const config::OptionTexts& given, bool running);

 private:
  using Declared = std::shared_ptr<const plugin::DeclaredOptions>;
  Declared declared(const config::PluginSettings& plugins, const std::string& id, bool running);

  // By the hash of the file, so that a reload does not map an unchanged plugin again.
  std::map<std::string, Declared> known_;
};

// The options that an installed plugin declares; null if it declares none. Logs nothing.
lib::Result<std::shared_ptr<const plugin::DeclaredOptions>> declared_options(const config::PluginSettings& plugins,
                                                                             const std::string& id);

}  // namespace sluice::lifecycle
