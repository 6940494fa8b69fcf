// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every flag: name, kind, group, default and help text. Data only.
#pragma once

#include <span>
#include <string_view>

namespace sluice::config {

enum class FlagKind {
  boolean,
  number,   // whole
  decimal,  // with or without a point
  duration,
  text,
  list,      // parts between commas; repeating the flag appends
  repeated,  // one value each time the flag is given
};
enum class FlagGroup {
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

struct FlagSpec {
  std::string_view name;
  FlagKind kind = FlagKind::text;
  FlagGroup group = FlagGroup::general;
  bool beats_file = false;         // false: ignored when --config is given, as in kube-proxy
  std::string_view value_name;     // for the help; empty for booleans
  std::string_view default_value;  // as Go prints it
  std::string_view help;
};

// What this version understands, in the order of the help.
std::span<const FlagSpec> flag_table();
const FlagSpec* find_flag(std::string_view name);
std::string_view group_title(FlagGroup group);

// A logging flag that Kubernetes has removed and that is still written in many manifests.
struct RetiredFlag {
  bool found = false;
  bool boolean = false;  // takes no separate value
};
RetiredFlag find_retired_flag(std::string_view name);

// The supported flag whose name is closest, or empty when none is close.
std::string_view nearest_flag(std::string_view name);

}  // namespace sluice::config
