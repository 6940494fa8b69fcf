// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/settings.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/number.hpp"
#include "plugins/common/settings/values.hpp"

namespace sluice::nftables {
namespace {

using settings::kNotAllowed;
using settings::kTaken;
using settings::Problem;

// The kernel allocates up to 16 bytes per client when it creates the map, and some 130 more when a client is added.
constexpr std::uint64_t kFewestClients = 1024;
constexpr std::uint64_t kMostClients = 1048576;

using Row = settings::Row<Settings>;

Problem affinity_clients(std::string_view value, Settings& to) {
  const auto read = lib::parse_number<std::uint64_t>(value, kFewestClients, kMostClients);
  if (!read) return kNotAllowed;
  to.affinity_clients = static_cast<std::uint32_t>(*read);
  return kTaken;
}

Problem counters(std::string_view value, Settings& to) {
  if (value != "true" && value != "false") return kNotAllowed;
  to.counters = value == "true";
  return kTaken;
}

// nft cannot list or load other characters unchanged. The kernel limits names to 15 bytes.
bool is_interface_name(std::string_view text) {
  return !text.empty() && text.size() <= 15 && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '*' && c != '\\' && c != '/';
  });
}

Problem offload_interface(std::string_view value, Settings& to) {
  if (to.offload_interfaces.size() == 64) return "the list has more than 64";
  const bool is_prefix = value.ends_with('*');
  if (!is_interface_name(value.substr(0, value.size() - (is_prefix ? 1 : 0)))) return kNotAllowed;
  to.offload_interfaces.emplace_back(value);
  return kTaken;
}

// Sorted by key. docs/reference/fields.md is generated from it.
// clang-format off
constexpr std::array kRows{
    Row{{"affinityClients", false, "262144", "a number from 1024 to 1048576",
         "Maximum number of clients with session affinity, per address family. Another value replaces the table in "
         "one transaction; a restart loses the bindings then."},
        affinity_clients},
    Row{{"counters", false, "false", "true or false",
         "Count packets and bytes of each Service. false after true replaces the table in one transaction."},
        counters},
    Row{{"offloadInterfaces", true, "[]", "a list of at most 64 interface names, or prefixes of names followed by *",
         "Forward established TCP and UDP connections to Services that arrive at these interfaces by a flowtable of the "
         "kernel. Their packets skip the forward hook, with the rules of other programs there. Cannot be combined with "
         "counters. Emptying the list replaces the table in one transaction."},
        offload_interface},
};
// clang-format on

}  // namespace

std::vector<SettingKey> setting_keys() { return settings::keys_of(kRows); }

Settings read_settings(const sdk::Options& options) {
  Settings read;
  settings::read(options, kRows, "nftables", read);
  if (read.counters && read.offloads()) {
    settings::refuse("offloadInterfaces",
                     "cannot be combined with counters: true, as offloaded packets are not counted; remove one of them");
  }
  return read;
}

}  // namespace sluice::nftables
