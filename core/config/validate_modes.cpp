// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Settings of single modes, and warnings about settings without an effect.
#include "core/config/mode_table.hpp"
#include "core/config/option_readers.hpp"
#include "core/config/validate_parts.hpp"

namespace sluice::config {
namespace {

// Warns about a setting that is set, and not to its default.
template <class Setting>
void warn_if_set(const Setting& setting, const Setting& as_default, const std::string& why, Problems& problems) {
  if (setting.given() && setting.value != as_default.value) {
    problems.warning(setting.where, "has no effect: " + why);
  }
}

}  // namespace

void validate_mode_options(const Draft& draft, Settings& out, Problems& problems) {
  for (const Option& option : options()) {
    if (!option.backend_option.starts_with(out.backend + ".")) continue;
    check_option(option, draft, problems);
    out.mode_options[std::string(option.backend_option)] = value_text(value_of(option, draft).value);
  }
}

void warn_without_effect(const Draft& draft, const Settings& out, Problems& problems) {
  const Draft defaults;
  const auto warn = [&](const auto& setting, const auto& as_default, const std::string& why) {
    warn_if_set(setting, as_default, why, problems);
  };
  if (draft.config_sync_period.value.count() > 0) {
    warn(draft.config_sync_period, defaults.config_sync_period, "there is no cache to resync");
  }
  warn(draft.show_hidden_metrics, defaults.show_hidden_metrics, "no metric is hidden");
  warn(draft.boot_id_file, defaults.boot_id_file, "the machine's boot id is not used");
  warn(draft.machine_id_file, defaults.machine_id_file, "the machine's id is not used");
  for (const ModeFacts& mode : mode_table()) {
    if (mode.id == out.backend || !mode.warns_unused) continue;
    for (const Option& option : options()) {
      if (option.group != mode.group) continue;
      warn(value_of(option, draft), value_of(option, defaults),
           "only a backend named " + std::string(mode.id) + " uses it");
    }
  }
  const std::string windows = "it is for Windows";
  warn(draft.windows_run_as_service, defaults.windows_run_as_service, windows);
  warn(draft.winkernel.network_name, defaults.winkernel.network_name, windows);
  warn(draft.winkernel.source_vip, defaults.winkernel.source_vip, windows);
  warn(draft.winkernel.enable_dsr, defaults.winkernel.enable_dsr, windows);
  warn(draft.winkernel.root_hns_endpoint_name, defaults.winkernel.root_hns_endpoint_name, windows);
  warn(draft.winkernel.forward_health_check_vip, defaults.winkernel.forward_health_check_vip, windows);
  const bool json_format = draft.log_format.value == "json";
  const auto idle_stream = [&](const StreamDraft& stream, const StreamDraft& as_default, bool in_use) {
    if (!in_use) {
      warn(stream.split, as_default.split, "the log has the other format");
      warn(stream.buffer, as_default.buffer, "the log has the other format");
    } else if (!stream.split.value) {
      warn(stream.buffer, as_default.buffer, "without a split stream every line is written at once");
    }
  };
  idle_stream(draft.log_text, defaults.log_text, !json_format);
  idle_stream(draft.log_json, defaults.log_json, json_format);
}

}  // namespace sluice::config
