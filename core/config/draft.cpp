// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/draft.hpp"

#include "core/config/file.hpp"
#include "core/config/flag_table.hpp"
#include "core/config/option_readers.hpp"
#include "core/config/values.hpp"
#include "lib/text.hpp"

namespace sluice::config {
namespace {

void apply_flags(const Flags& flags, bool beating_the_file, Draft& draft) {
  for (const Option* option : flag_table()) {
    if (option->beats_file == beating_the_file) apply_flag(flags, *option, draft);
  }
}

}  // namespace

PluginSettings Draft::plugins() const {
  PluginSettings out = settings.plugins;
  for (const auto& folder : plugin_dirs) out.folders.push_back(folder.value);
  return out;
}

LogSettings Draft::log() const {
  LogSettings out = settings.log;
  out.format = log_format.value == "json" ? LogFormat::json : LogFormat::text;
  const StreamDraft& stream = out.format == LogFormat::json ? log_json : log_text;
  out.split_stream = stream.split.value;
  out.info_buffer_size = static_cast<std::size_t>(parse_quantity(stream.buffer.value).value_or(0));
  for (const auto& entry : vmodule) {
    const auto equals = entry.value.rfind('=');
    if (equals == std::string::npos) continue;
    if (const auto level = parse_number(entry.value.substr(equals + 1))) {
      out.vmodule.push_back({entry.value.substr(0, equals), *level});
    }
  }
  return out;
}

Draft read_configuration(const Flags& flags, const Defaults& defaults, Problems& problems) {
  Draft draft;
  draft.settings.state_dir = defaults.state_dir;
  for (const std::string& folder : defaults.plugin_dirs) draft.plugin_dirs.push_back({folder, {}});

  draft.flags = flag_values(flags);
  draft.config_file = flags.text("config");
  draft.strict = flags.action() == Action::check;
  if (draft.config_file.empty()) {
    apply_flags(flags, false, draft);
  } else {
    const std::string ignored = lib::joined(flags.ignored_with_file());
    if (!ignored.empty()) problems.warning("--config", "these flags are ignored because a file is given: " + ignored);
    read_config_file(draft.config_file, {.strict = draft.strict}, draft, problems);
  }
  apply_flags(flags, true, draft);
  return draft;
}

}  // namespace sluice::config
