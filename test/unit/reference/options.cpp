// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <sstream>

#include "core/config/feature_gates.hpp"
#include "core/config/flag_table.hpp"
#include "core/config/mode_table.hpp"
#include "core/config/option_readers.hpp"
#include "plugins/ipvs/option_table.hpp"
#include "plugins/nftables/option_table.hpp"
#include "plugins/userspace/option_table.hpp"
#include "test/unit/reference/parts.hpp"

namespace sluice::reference {
namespace {

using config::Document;
using config::FeatureGate;
using config::FlagGroup;
using config::FlagKind;
using config::Option;

std::string text(std::string_view view) { return std::string(view); }

// A flag that also sets fields of another mode names its modes in its note.
std::string mode_sentence(const Option& option) {
  if (option.flag_sets_too.at != nullptr) return {};
  const std::string modes = modes_of(option);
  return modes.empty() ? "" : "Mode: " + modes + ".";
}

std::string values_of(const Option& option) {
  if (!option.allowed.empty()) return prose(option.allowed);
  return option.kind == FlagKind::boolean ? "`true`, `false`" : "";
}

std::string shown_flag(const Option& option) {
  std::string out = "--" + text(option.flag);
  if (option.flag == "help") return "`-h`, " + code(out);
  if (option.flag == "v") return code("-v LEVEL") + ", " + code("--v LEVEL");
  if (option.value_name.starts_with('[')) return code(out + text(option.value_name));
  return code(option.kind == FlagKind::boolean ? out : out + " " + text(option.value_name));
}

std::string flags() {
  std::string out;
  const Option* before = nullptr;
  for (const Option* flag : config::flag_table()) {
    if (before == nullptr || before->group != flag->group) {
      out += "\n### " + config::group_title(flag->group) + "\n\n" +
             heading_row({"Flag", "Default", "Values", "Description", "Field", "With `--config`"});
    }
    before = flag;
    out += row({shown_flag(*flag), code(config::default_text(*flag)), values_of(*flag),
                prose(sentences({text(flag->help), text(flag->note), text(flag->flag_note), mode_sentence(*flag)})),
                flag->field.empty() ? "" : code(flag->field), flag->beats_file ? "overrides the file" : "ignored"});
  }
  return out + "\n";
}

std::string fields(Document document) {
  std::string out =
      heading_row({"Field", "Default", "Values", "Modes", "Description", "Change while the daemon runs", "Flag"});
  for (const auto& [name, option] : config::fields_of(document)) {
    if (option == nullptr) continue;
    out += row({code(name), code(config::default_text(*option)), values_of(*option), modes_of(*option),
                prose(sentences({text(option->help), text(option->note), text(option->field_note)})),
                prose(option->reload), option->flag.empty() ? "" : code("--" + text(option->flag))});
  }
  return out;
}

std::string settings_of(const abi::ArrayView& table) {
  std::string out = heading_row({"Setting", "Type", "Default", "Values", "Change", "Description"});
  for (const abi::OptionSpec& spec : sdk::rows(table)) {
    out += row({code(sdk::option_name(spec)), type_of(spec), code(sdk::text(spec.default_value)),
                prose(sdk::allowed_text(spec)), spec.reload == abi::OptionReload::kRestart ? "restart" : "reload",
                prose(sdk::text(spec.help))});
  }
  return out;
}

std::string stage(const FeatureGate& gate) {
  switch (gate.stage) {
    case config::GateStage::alpha:
      return "alpha";
    case config::GateStage::beta:
      return "beta";
    case config::GateStage::ga:
      return "GA";
  }
  return "";
}

std::string proxy_gates() {
  std::string out = heading_row({"Gate", "Stage", "Default", "Effect in Sluice"});
  for (const FeatureGate& gate : config::feature_gates()) {
    const config::GateEffect effect = config::effect_of(gate);
    if (!effect.any && effect.instead.empty()) continue;
    out += row({code(gate.name), stage(gate), code(gate.default_on ? "true" : "false"),
                effect.any ? "yes, see `featureGates`" : "none: " + text(effect.instead)});
  }
  return out;
}

std::string other_gates() {
  std::string out;
  std::string locked;
  std::size_t count = 0;
  for (const FeatureGate& gate : config::feature_gates()) {
    const config::GateEffect effect = config::effect_of(gate);
    if (gate.locked)
      locked += (locked.empty() ? "" : ", ") + code(text(gate.name) + "=" + (gate.default_on ? "true" : "false"));
    if (effect.any || !effect.instead.empty()) continue;
    ++count;
  }
  out += std::to_string(count) +
         " gates of other components are accepted and ignored. These gates are locked to their default:\n\n";
  return out + locked + "\n";
}

}  // namespace

std::string type_of(const abi::OptionSpec& spec) {
  const auto name = [&]() -> std::string {
    switch (spec.value_type) {
      case abi::OptionType::kBoolean:
        return "boolean";
      case abi::OptionType::kInteger:
        return "number";
      case abi::OptionType::kDuration:
        return "duration";
      case abi::OptionType::kWord:
        return "word";
      case abi::OptionType::kText:
      case abi::OptionType::kUndeclared:
        break;
    }
    return "text";
  }();
  return sdk::is_list(spec) ? "list of " + name + "s" : name;
}

std::string modes_of(const Option& option) {
  if (!option.modes.empty()) return text(option.modes);
  for (const config::ModeFacts& mode : config::mode_table()) {
    if (mode.group == option.group || option.field.starts_with(text(mode.id) + ".")) return text(mode.id);
  }
  return {};
}

Parts option_parts() {
  return {
      {"flags", flags},
      {"fields kube-proxy", [] { return fields(Document::kube_proxy); }},
      {"fields sluice", [] { return fields(Document::sluice); }},
      {"settings ipvs", [] { return settings_of(sdk::array(ipvs::kOptions)); }},
      {"settings nftables", [] { return settings_of(sdk::array(nftables::kOptions)); }},
      {"settings userspace", [] { return settings_of(sdk::array(userspace::kOptions)); }},
      {"feature gates of kube-proxy", proxy_gates},
      {"other feature gates", other_gates},
  };
}

std::vector<std::string> compare_help(const std::string& help) {
  // Line ends of the help are those of its columns.
  std::string words;
  std::istringstream in(help);
  for (std::string word; in >> word;) words += word + " ";
  std::vector<std::string> out;
  for (const Option* flag : config::flag_table()) {
    const std::string value = config::default_text(*flag);
    const std::string name = flag->flag == "help" ? "-h [ --help ]"
                             : flag->flag == "v"  ? "-v [ --v ]"
                                                  : "--" + text(flag->flag);
    const bool has_value = flag->kind != FlagKind::boolean && !flag->value_name.starts_with('[');
    const std::string wanted = name + " " +
                               (has_value                         ? text(flag->value_name) + " "
                                : flag->kind == FlagKind::boolean ? ""
                                                                  : text(flag->value_name) + " ") +
                               text(flag->help) + (value.empty() ? "" : " (default " + value + ")") + " ";
    if (words.find(wanted) == std::string::npos) out.push_back("--help lacks: " + wanted);
  }
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find_first_not_of(' ');
    if (at != 2 || line.compare(at, 2, "--") != 0) continue;
    const std::size_t end = line.find_first_of(" =", at);
    const std::string name = line.substr(at + 2, end == std::string::npos ? end : end - at - 2);
    if (config::find_flag(name) == nullptr) out.push_back("--help has an unknown flag: " + name);
  }
  return out;
}

}  // namespace sluice::reference
