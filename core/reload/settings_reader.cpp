// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/reload/settings_reader.hpp"

#include "core/config/flags.hpp"

namespace sluice::reload {
namespace {

// The node name without --hostname-override: the recorded node for a replay, else the host name.
std::string default_node_name(const config::Draft& draft, const ReaderSurroundings& surroundings) {
  const std::string recorded = draft.replay.given() ? surroundings.recorded_node(draft.replay.value) : std::string();
  return recorded.empty() ? surroundings.host_name : recorded;
}

}  // namespace

config::Settings validated(const config::Draft& draft, const ReaderSurroundings& surroundings,
                           const config::Settings* in_force, config::Problems& problems) {
  // A document that could not be read may hold the missing fields: report that error only, not those that follow.
  if (!draft.whole) return {};
  const auto choose = [&](const config::PluginSettings& plugins) -> base::Result<config::BackendChoice> {
    const bool chosen_before = in_force != nullptr && !in_force->backend_reason.empty();
    if (chosen_before && in_force->plugins == plugins)
      return config::BackendChoice{in_force->backend, in_force->backend_reason};
    return surroundings.choose_backend(plugins);
  };
  return config::validate(
      draft, {surroundings.installed_backends(draft.plugins()), default_node_name(draft, surroundings), choose},
      problems);
}

config::Settings read_settings(const std::vector<std::string>& arguments, const ReaderSurroundings& surroundings,
                               const config::Settings& in_force, config::Problems& problems) {
  const config::Flags flags = config::parse_flags(arguments, problems);
  return validated(config::read_configuration(flags, surroundings.defaults, problems), surroundings, &in_force,
                   problems);
}

}  // namespace sluice::reload
