// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/reload/settings_diff.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::reload {
namespace {

using config::ChangeRule;
using config::differs_in;
using config::ServeSettings;
using config::Settings;

bool source_differs(const Settings& from, const Settings& to) {
  using enum config::SourceKind;
  return from.source.kind != to.source.kind && from.source.kind != replay && to.source.kind != replay;
}

// Only the section of the active backend matters.
bool section_in_use_differs(const Settings& from, const Settings& to) {
  return from.backend == to.backend && !(from.section() == to.section());
}
bool other_sections_differ(const Settings& from, const Settings& to) {
  return from.sections != to.sections && !section_in_use_differs(from, to);
}

// Changes that are not those of one option.
constexpr std::array kOtherRules = std::to_array<ChangeRule>({
    {2, SettingsPart::source, source_differs, "source"},
    {6, SettingsPart::none, differs_in<&Settings::backend_reason>, "mode"},
    {15, SettingsPart::serve, differs_in<&Settings::serve, &ServeSettings::flagz>, "featureGates.ComponentFlagz"},
    {15, SettingsPart::serve, differs_in<&Settings::serve, &ServeSettings::statusz>, "featureGates.ComponentStatusz"},
    {17, SettingsPart::backend, differs_in<&Settings::allow_external_ips>, "featureGates.AllowServiceExternalIPs"},
    // Only displayed, or the source of other fields.
    {19, SettingsPart::none, differs_in<&Settings::kube_proxy_configuration>, "configz"},
    {19, SettingsPart::backend, section_in_use_differs, "backends"},
    {19, SettingsPart::none, other_sections_differ, "backends"},
    {19, SettingsPart::none, differs_in<&Settings::flags>, "flags"},
    {19, SettingsPart::backend, differs_in<&Settings::mode_options>, "mode options"},
});

// Options that the plugin of the active backend declares as such.
std::vector<SettingsChange> restart_options(const Settings& from, const Settings& to) {
  std::vector<SettingsChange> out;
  if (from.backend != to.backend) return out;
  for (const auto& [key, value] : to.restart_options) {
    const auto running = from.restart_options.find(key);
    if (running == from.restart_options.end() || running->second == value) continue;
    out.push_back({"backends." + to.backend + "." + key, SettingsPart::none,
                   "the running value is '" + running->second + "'; restart sluiced to apply '" + value + "'"});
  }
  return out;
}

const std::vector<ChangeRule>& rules() {
  static const auto sorted = [] {
    std::vector<ChangeRule> out;
    for (const config::Option& option : config::options()) {
      if (option.change.order == 0) continue;
      ChangeRule& rule = out.emplace_back(option.change);
      if (rule.name.empty()) rule.name = option.field;
      if (rule.differs == nullptr) rule.differs = option.setting.differs;
    }
    out.insert(out.end(), kOtherRules.begin(), kOtherRules.end());
    std::stable_sort(out.begin(), out.end(),
                     [](const ChangeRule& a, const ChangeRule& b) { return a.order < b.order; });
    return out;
  }();
  return sorted;
}

}  // namespace

std::vector<SettingsChange> settings_diff(const Settings& from, const Settings& to) {
  std::vector<SettingsChange> out;
  for (const ChangeRule& rule : rules()) {
    if (!rule.differs(from, to)) continue;
    SettingsChange change{std::string(rule.name), rule.part, {}};
    if (rule.refusal != nullptr) change.refusal = rule.refusal(from, to);
    if (!change.refusal.empty()) change.part = SettingsPart::none;
    // Options of one name are one change.
    if (out.empty() || out.back() != change) out.push_back(std::move(change));
  }
  for (SettingsChange& change : restart_options(from, to)) out.push_back(std::move(change));
  return out;
}

bool concerns(const std::vector<SettingsChange>& changes, SettingsPart part) {
  return std::any_of(changes.begin(), changes.end(), [part](const auto& change) { return change.part == part; });
}

std::vector<std::string> refusals(const std::vector<SettingsChange>& changes) {
  std::vector<std::string> out;
  for (const auto& change : changes) {
    if (!change.refusal.empty()) out.push_back(change.setting + ": " + change.refusal);
  }
  return out;
}

}  // namespace sluice::reload
