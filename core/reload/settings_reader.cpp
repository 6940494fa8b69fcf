// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/reload/settings_reader.hpp"

#include "core/config/flags.hpp"

namespace sluice::reload {
namespace {

// The node name without --hostname-override: the recorded node for a replay, else the host name.
std::string default_node_name(const config::Draft& draft, const ReaderEnvironment& environment) {
  const std::string recorded = draft.replay.given() ? environment.recorded_node(draft.replay.value) : std::string();
  return recorded.empty() ? environment.host_name : recorded;
}

}  // namespace

config::Settings validated(const config::Draft& draft, const ReaderEnvironment& environment,
                           const config::Settings* running, config::Problems& problems) {
  // A document that could not be read may hold the missing fields: report that error only, not those that follow.
  if (!draft.whole) return {};
  const auto choose = [&](const config::PluginSettings& plugins) -> lib::Result<config::BackendChoice> {
    const bool chosen_before = running != nullptr && !running->backend_reason.empty();
    if (chosen_before && running->plugins == plugins)
      return config::BackendChoice{running->backend, running->backend_reason};
    return environment.choose_backend(plugins);
  };
  config::HostEnvironment host{environment.installed_backends(draft.plugins()), default_node_name(draft, environment),
                               choose};
  if (environment.check_options) {
    host.check_options = [&](const config::PluginSettings& plugins, const std::string& backend,
                             const config::OptionTexts& given) {
      return environment.check_options(plugins, backend, given, running != nullptr);
    };
  }
  return config::validate(draft, host, problems);
}

config::Settings read_settings(const std::vector<std::string>& arguments, const ReaderEnvironment& environment,
                               const config::Settings& running, config::Problems& problems) {
  const config::Flags flags = config::parse_flags(arguments, problems);
  return validated(config::read_configuration(flags, environment.defaults, problems), environment, &running, problems);
}

}  // namespace sluice::reload
