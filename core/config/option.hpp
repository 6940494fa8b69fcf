// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The declaration of an option: its field, its flag, its value, and how a change of it is applied. Flags, documents,
// --help, --write-config-to, /configz and the difference between two configurations derive from options(). Data only.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/config/draft.hpp"
#include "core/config/settings.hpp"

namespace sluice::config {

class ConfigNode;

enum class FlagKind : std::uint8_t {
  boolean,
  number,   // whole
  decimal,  // with or without a point
  duration,
  text,
  list,      // comma-separated; repeating the flag appends
  repeated,  // one value for each use of the flag
};
enum class FlagGroup : std::uint8_t {
  general,
  source,
  node,
  backend,
  local_traffic,
  pace,
  serving,
  conntrack,
  ipvs,
  userspace,
  logging
};
enum class Document : std::uint8_t { kube_proxy, sluice };

// The part of the daemon that a change concerns.
enum class SettingsPart : std::uint8_t {
  none,     // no running component depends on it
  backend,  // the backend and its node settings
  source,
  serve,   // the addresses of health and metrics
  kernel,  // sysctls and other kernel settings
  logging,
};

using Texts = std::vector<Sourced<std::string>>;
// Only effective values have the last two types.
using Value = std::variant<std::monostate, std::string, bool, int, double, Duration, Texts, std::map<std::string, bool>,
                           std::vector<LogSettings::Module>>;
using ValuePointer = std::variant<std::monostate, std::string*, bool*, int*, double*, Duration*, Texts*>;

// A value and its place in a draft that can be changed.
struct DraftCell {
  ValuePointer value;
  std::string* where = nullptr;  // null for Texts, whose elements have their own
};
struct DraftMember {
  Sourced<Value> (*get)(const Draft&) = nullptr;
  DraftCell (*at)(Draft&) = nullptr;
};
using SettingsDiffer = bool (*)(const Settings& from, const Settings& to);
struct SettingsMember {
  Value (*get)(const Settings&) = nullptr;
  ValuePointer (*at)(Settings&) = nullptr;
  SettingsDiffer differs = nullptr;
};

// How the difference between two configurations reports a change of a setting.
struct ChangeRule {
  // Among all changes, from 1; equal numbers have the order of the table, then the rules of the difference without an
  // option. 0: no change of its own. REQUIRES, unless 0: this or `setting` has `differs`.
  int order = 0;
  SettingsPart part = SettingsPart::none;
  SettingsDiffer differs = nullptr;  // null: that of `setting`
  std::string_view name{};           // empty: the field
  // Why the change cannot be applied live, and the remedy; an empty text: it can.
  std::string (*refusal)(const Settings& from, const Settings& to) = nullptr;
};

struct Option {
  std::string_view field{};  // "iptables.syncPeriod"; empty: only a flag
  Document document = Document::kube_proxy;
  std::string_view flag{};  // "iptables-sync-period"; empty: only a field
  FlagKind kind = FlagKind::text;
  FlagGroup group = FlagGroup::general;
  bool beats_file = false;           // the flag; false: ignored with --config, as in kube-proxy
  int help_order = 0;                // in its group; equal numbers have the order of the table
  std::string_view value_name{};     // for --help; empty for booleans
  std::string_view shown_default{};  // in Go's format, if it is not the initial value of the member
  // Texts of the documentation: plain sentences in which names of flags begin with two dashes. --help has `help` only.
  std::string_view help{};
  std::string_view allowed{};     // the allowed values; empty for booleans and actions
  std::string_view modes{};       // the modes that use it, if neither the group nor the section is that of one mode
  std::string_view note{};        // what `help` has no room for
  std::string_view flag_note{};   // about the flag alone
  std::string_view field_note{};  // about the field alone
  std::string_view reload{};      // of a field: the effect of a change while the daemon runs

  // The member that holds the value: of Settings, if the value needs no more than a check; otherwise of Draft.
  SettingsMember setting{};
  DraftMember draft{};
  DraftMember flag_sets_too{};
  bool flag_appends = false;     // to the list of the file
  bool zero_is_default = false;  // in the file
  // Instead of the reader for the type of the member.
  void (*read)(const ConfigNode&, const Option&, Draft&) = nullptr;
  std::string (*check)(const Value&) = nullptr;  // returns the error, or an empty text; of a list: for each entry
  std::string_view backend_option{};             // "ipvs.scheduler": name of the value for the backend of that mode
  bool zero_keeps_kernel = false;                // 0 or false keeps the value of the kernel; with `setting`
  // The value in the effective configuration, if it is not that of the member; monostate: the field is not written.
  Value (*effective)(const Draft&, const Settings&) = nullptr;
  ChangeRule change{};
};

// In the order of the fields in k8s.io/kube-proxy/config/v1alpha1.
std::span<const Option> options();

namespace option_members {

template <class T>
Sourced<Value> held(const Sourced<T>& member) {
  return {Value(member.value), member.where};
}
inline Sourced<Value> held(const Texts& member) {
  return {Value(member), member.empty() ? std::string() : member.front().where};
}
template <class T>
DraftCell cell(Sourced<T>& member) {
  return {ValuePointer(&member.value), &member.where};
}
inline DraftCell cell(Texts& member) { return {ValuePointer(&member), nullptr}; }

// whole.*first.*second
template <auto... Path>
constexpr auto& follow(auto& whole) {
  // clang-format off
  return (whole .* ... .* Path);
  // clang-format on
}

}  // namespace option_members

// `Path`: a member of Draft or Settings, or a member and its members.
template <auto... Path>
inline constexpr DraftMember in_draft{
    [](const Draft& draft) { return option_members::held(option_members::follow<Path...>(draft)); },
    [](Draft& draft) { return option_members::cell(option_members::follow<Path...>(draft)); },
};
template <auto... Path>
inline constexpr SettingsDiffer differs_in = [](const Settings& from, const Settings& to) {
  return !(option_members::follow<Path...>(from) == option_members::follow<Path...>(to));
};
template <auto... Path>
inline constexpr SettingsMember in_settings{
    [](const Settings& settings) { return Value(option_members::follow<Path...>(settings)); },
    [](Settings& settings) { return ValuePointer(&option_members::follow<Path...>(settings)); },
    differs_in<Path...>,
};

}  // namespace sluice::config
