// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every flag there is, was or will be: name, kind, group and help text. Data only.
#pragma once

#include <span>
#include <string_view>

namespace sluice::app {

enum class FlagKind {
  boolean,
  number,   // whole
  decimal,  // with or without a point
  duration,
  text,
  list,      // parts between commas; repeating the flag appends
  repeated,  // one value each time the flag is given
};
enum class FlagGroup { general, source, node, backend, local_traffic, pace, logging };

struct FlagSpec {
  std::string_view name;
  FlagKind kind = FlagKind::text;
  FlagGroup group = FlagGroup::general;
  bool beats_file = false;      // false: ignored when --config is given, as in kube-proxy
  std::string_view value_name;  // for the help; empty for booleans
  std::string_view help;
};

// What this version understands, in the order of the help.
std::span<const FlagSpec> flag_table();
const FlagSpec* find_flag(std::string_view name);
std::string_view group_title(FlagGroup group);

enum class ForeignFlag {
  none,     // nobody's flag
  known,    // a flag of kube-proxy that this version does not support
  retired,  // a logging flag Kubernetes has removed; still written in many manifests
};
struct ForeignFlagInfo {
  ForeignFlag kind = ForeignFlag::none;
  bool boolean = false;  // takes no separate value
};
ForeignFlagInfo find_foreign_flag(std::string_view name);

// The supported flag whose name is closest, or empty when none is close.
std::string_view nearest_flag(std::string_view name);

}  // namespace sluice::app
