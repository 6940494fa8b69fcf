// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/flag_table.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/config/mode_table.hpp"
#include "sluice/sdk/nearest.hpp"

namespace sluice::config {
namespace {

struct RetiredName {
  std::string_view name;
  bool boolean = false;
};

constexpr std::array kRetired = std::to_array<RetiredName>({
    {"add-dir-header", true},
    {"alsologtostderr", true},
    {"log-backtrace-at"},
    {"log-dir"},
    {"log-file"},
    {"log-file-max-size"},
    {"logtostderr", true},
    {"one-output", true},
    {"skip-headers", true},
    {"skip-log-headers", true},
    {"stderrthreshold"},
});

}  // namespace

const std::vector<const Option*>& options_in_help_order() {
  static const auto sorted = [] {
    std::vector<const Option*> out;
    for (const Option& option : options()) out.push_back(&option);
    std::stable_sort(out.begin(), out.end(), [](const Option* a, const Option* b) {
      return std::pair(a->group, a->help_order) < std::pair(b->group, b->help_order);
    });
    return out;
  }();
  return sorted;
}

const std::vector<const Option*>& flag_table() {
  static const auto flags = [] {
    std::vector<const Option*> out = options_in_help_order();
    std::erase_if(out, [](const Option* option) { return option->flag.empty(); });
    return out;
  }();
  return flags;
}

const Option* find_flag(std::string_view name) {
  const auto& flags = flag_table();
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const Option* flag) { return flag->flag == name; });
  return found == flags.end() ? nullptr : *found;
}

std::string group_title(FlagGroup group) {
  using enum FlagGroup;
  switch (group) {
    case general:
      return "General";
    case source:
      return "Source of Services";
    case node:
      return "Node";
    case backend:
      return "Backend";
    case local_traffic:
      return "Local traffic and masquerading";
    case pace:
      return "Sync intervals";
    case serving:
      return "Health and metrics";
    case conntrack:
      return "Connection tracking";
    case logging:
      return "Logging";
    case ipvs:
    case userspace:
      break;
  }
  const auto modes = mode_table();
  const auto found = std::find_if(modes.begin(), modes.end(), [&](const auto& mode) { return mode.group == group; });
  return found == modes.end() ? "" : std::string(found->id) + " mode";
}

RetiredFlag find_retired_flag(std::string_view name) {
  const auto found =
      std::find_if(kRetired.begin(), kRetired.end(), [&](const auto& flag) { return flag.name == name; });
  return found == kRetired.end() ? RetiredFlag() : RetiredFlag{true, found->boolean};
}

std::string_view nearest_flag(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Option* flag : flag_table()) names.push_back(flag->flag);
  return sdk::nearest_name(name, names);
}

}  // namespace sluice::config
