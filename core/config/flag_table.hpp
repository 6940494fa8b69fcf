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
  list,      // comma-separated; repeating the flag appends
  repeated,  // one value for each use of the flag
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
  bool beats_file = false;         // false: ignored with --config, as in kube-proxy
  std::string_view value_name;     // for --help; empty for booleans
  std::string_view default_value;  // in Go's format
  std::string_view help;
};

// All flags, in the order of --help.
std::span<const FlagSpec> flag_table();
const FlagSpec* find_flag(std::string_view name);
std::string_view group_title(FlagGroup group);

// A logging flag that Kubernetes removed but many manifests still set.
struct RetiredFlag {
  bool found = false;
  bool boolean = false;  // takes no separate value
};
RetiredFlag find_retired_flag(std::string_view name);

// The supported flag with the closest name, or empty if none is close.
std::string_view nearest_flag(std::string_view name);

}  // namespace sluice::config
