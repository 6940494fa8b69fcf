// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cctype>
#include <cstring>
#include <set>

#include "core/config/flag_table.hpp"
#include "core/config/option_readers.hpp"
#include "core/ctl/arguments.hpp"
#include "plugins/ipvs/option_table.hpp"
#include "plugins/nftables/option_table.hpp"
#include "plugins/userspace/option_table.hpp"
#include "test/unit/reference/parts.hpp"

namespace sluice::reference {
namespace {

using config::Document;
using config::FlagGroup;
using config::FlagKind;
using config::Option;

std::string with_dashes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-') out += '\\';
    out += c;
  }
  return out;
}

// ".BI \-\-name " VALUE\fR,...\fP" " \fR[\fPfile\fR]\fP"": what the user replaces is in italics.
std::string heading_of_flag(const Option& flag) {
  if (flag.flag == "version") return R"(.BR \-\-version [ =raw | =v\fIX.Y.Z\fP ])";
  if (flag.flag == "help") return R"(.BR \-h ", " \-\-help)";
  if (flag.flag == "v") return R"(.BI \-v " LEVEL\fR, \fP" \-\-v " LEVEL")";
  const std::string name = with_dashes("--" + std::string(flag.flag));
  if (flag.kind == FlagKind::boolean) return flag.beats_file ? ".B " + name : ".BR " + name + R"( " [" \fIfile\fP ])";
  std::string value;
  bool roman = false;
  for (const char c : flag.value_name) {
    if ((std::strchr("[],:|.", c) != nullptr) != roman) {
      roman = !roman;
      value += roman ? "\\fR" : "\\fP";
    }
    value += c == '-' ? "\\-" : std::string(1, c);
  }
  return ".BI " + name + " \" " + value + (roman ? "\\fP" : "") + "\"" +
         (flag.beats_file ? "" : R"( " \fR[\fPfile\fR]\fP")");
}

// One sentence a line, with names of flags in bold.
std::string prose(std::string text) {
  for (std::size_t at = 0; (at = text.find("--", at)) != std::string::npos;) {
    std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
    if (end == std::string::npos) end = text.size();
    text.insert(end, "\\fP");
    text.insert(at, "\\fB");
    at = end + 6;
  }
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool ends = text[i] == ' ' && i > 0 && text[i - 1] == '.' && i + 1 < text.size() &&
                      std::islower(static_cast<unsigned char>(text[i + 1])) == 0;
    out += ends ? '\n' : text[i];
  }
  return with_dashes(out) + "\n";
}

// Values that the name of the value says already, and the default of a boolean, are omitted.
std::string values_of(const Option& option, const std::string& by_default, bool is_flag) {
  static const std::set<std::string_view> plain{"URL", "map", "name", "path", "paths"};
  // A flag that also sets fields of another mode names its modes in its note.
  const std::string modes = is_flag && option.flag_sets_too.at != nullptr ? std::string() : modes_of(option);
  const bool has_values = !option.allowed.empty() && !plain.contains(option.allowed);
  return sentences({modes.empty() ? "" : "Mode: " + modes + ".",
                    has_values ? "Values: " + std::string(option.allowed) + "." : "",
                    by_default.empty() || by_default == "false" ? "" : "Default: " + by_default + "."});
}

std::string flags(FlagGroup group) {
  std::string out;
  for (const Option* flag : config::flag_table()) {
    if (flag->group != group) continue;
    out += ".TP\n" + heading_of_flag(*flag) + "\n" +
           prose(sentences({std::string(flag->help), std::string(flag->note), std::string(flag->flag_note),
                            values_of(*flag, config::default_text(*flag), true)}));
  }
  return out;
}

std::string fields(Document document) {
  std::string out;
  for (const auto& [name, option] : config::fields_of(document)) {
    if (option == nullptr) continue;
    const std::string value = config::default_text(*option);
    const std::string field(name);
    out += ".TP\n" + (value.empty() ? ".B " + field : ".BR " + field + " \" (" + with_dashes(value) + ")\"") + "\n" +
           prose(sentences({std::string(option->help), std::string(option->note), std::string(option->field_note),
                            values_of(*option, "", false)}));
  }
  return out;
}

std::string settings_of(const abi::ArrayView& table) {
  std::string out;
  for (const abi::OptionSpec& spec : sdk::rows(table)) {
    const std::string value = with_dashes(sdk::text(spec.default_value));
    const std::string name(sdk::option_name(spec));
    out += ".TP\n" + (value.empty() ? ".B " + name : ".BR " + name + " \" (" + value + ")\"") + "\n" +
           prose(sentences({std::string(sdk::text(spec.help)), "Type: " + type_of(spec) + ".",
                            "Values: " + sdk::allowed_text(spec) + ".",
                            spec.reload == abi::OptionReload::kRestart ? "A change needs a restart." : ""}));
  }
  return out;
}

std::string options_of_sluicectl() {
  std::string out;
  for (const ctl::CtlOption& option : ctl::ctl_options()) {
    const std::string letter = option.letter == 0 ? "" : std::string("\\fB\\-") + option.letter + "\\fP, ";
    const bool optional = option.name == "wait";
    const std::string value =
        option.value_name.empty()
            ? ""
            : (optional ? "[=\\fI" : " \\fI") + std::string(option.value_name) + "\\fP" + (optional ? "]" : "");
    out +=
        ".TP\n" + letter + "\\fB" + with_dashes("--" + std::string(option.name)) + "\\fP" + value + "\n" +
        prose(sentences({(option.commands.empty() ? "" : std::string(option.commands) + ": ") + std::string(option.help),
                         std::string(option.note), option.shown_default.empty() ? "" : "Default: " + std::string(option.shown_default) + "."}));
  }
  return out;
}

}  // namespace

Parts manual_parts() {
  Parts out{
      {"manual of sluicectl options", options_of_sluicectl},
      {"manual of fields kube-proxy", [] { return fields(Document::kube_proxy); }},
      {"manual of fields sluice", [] { return fields(Document::sluice); }},
      {"manual of settings ipvs", [] { return settings_of(sdk::array(ipvs::kOptions)); }},
      {"manual of settings nftables", [] { return settings_of(sdk::array(nftables::kOptions)); }},
      {"manual of settings userspace", [] { return settings_of(sdk::array(userspace::kOptions)); }},
  };
  for (const Option* flag : config::flag_table()) {
    out["manual of flags: " + config::group_title(flag->group)] = [group = flag->group] { return flags(group); };
  }
  return out;
}

}  // namespace sluice::reference
