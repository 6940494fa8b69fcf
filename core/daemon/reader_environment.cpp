// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/reader_environment.hpp"

#include <unistd.h>

#include <memory>
#include <string>

#include "core/daemon/build_info.hpp"
#include "core/daemon/source.hpp"
#include "core/lifecycle/choose_backend.hpp"
#include "core/lifecycle/option_check.hpp"
#include "core/plugin/lookup.hpp"

namespace sluice::daemon {
namespace {

std::string host_name() {
  char buffer[256] = "";
  return gethostname(buffer, sizeof buffer - 1) == 0 ? buffer : "";
}

config::Defaults defaults() {
  config::Defaults out;
  for (const auto& folder : plugin::default_folders(kPluginDir, plugin::running_executable())) {
    out.plugin_dirs.push_back(folder.string());
  }
  return out;
}

}  // namespace

reload::ReaderEnvironment reader_environment() {
  reload::ReaderEnvironment out;
  out.defaults = defaults();
  out.host_name = host_name();
  out.installed_backends = [](const config::PluginSettings& plugins) {
    return plugin::available_plugins({plugins.folders.begin(), plugins.folders.end()});
  };
  out.recorded_node = recorded_node;
  out.choose_backend = lifecycle::choose_backend;
  out.check_options = [check = std::make_shared<lifecycle::OptionCheck>()](
                          const config::PluginSettings& plugins, const std::string& backend,
                          const config::OptionTexts& given,
                          bool running) { return check->check(plugins, backend, given, running); };
  return out;
}

}  // namespace sluice::daemon
