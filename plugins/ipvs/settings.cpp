// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/settings.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "lib/text.hpp"
#include "plugins/common/netfilter/rule_reader.hpp"
#include "plugins/common/settings/values.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::ipvs {
namespace {

using namespace std::chrono_literals;
using settings::kNotAllowed;
using settings::kTaken;
using settings::Problem;

// Limit of the kernel, which counts jiffies in an int.
constexpr std::chrono::seconds kLongest = 555h;
constexpr std::size_t kLongestScheduler = 15;  // IP_VS_SCHEDNAME_MAXLEN without the NUL

struct Context {
  Settings& settings;
  abi::Family family;
};
using Row = settings::Row<Context>;

// The kernel has whole seconds; a fraction is rounded up.
Problem whole_seconds(std::string_view value, std::chrono::seconds& out, std::chrono::seconds most) {
  const auto read = settings::parse_duration(value);
  if (!read) return kNotAllowed;
  const auto rounded = std::chrono::ceil<std::chrono::seconds>(*read);
  if (rounded > most) return kNotAllowed;
  out = rounded;
  return kTaken;
}

Problem scheduler(std::string_view value, Context& to) {
  if (value.empty()) return kTaken;
  const bool plain = value.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
  if (!plain || value.size() > kLongestScheduler) return kNotAllowed;
  to.settings.scheduler = value;
  return kTaken;
}

struct FamilyPrefix {
  abi::Family family;
  abi::Prefix prefix;
};

std::optional<FamilyPrefix> parse_prefix(std::string_view text) {
  if (text.find('/') == std::string_view::npos) return std::nullopt;
  for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
    if (const auto prefix = netfilter::parse_prefix(text, family)) return FamilyPrefix{family, *prefix};
  }
  return std::nullopt;
}

Problem exclude_cidrs(std::string_view value, Context& to) {
  to.settings.exclude_cidrs.clear();
  while (!value.empty()) {
    const auto read = parse_prefix(lib::take_part(value, ','));
    if (!read) return kNotAllowed;
    if (read->family == to.family) to.settings.exclude_cidrs.push_back(read->prefix);
  }
  return kTaken;
}

Problem strict_arp(std::string_view value, Context& to) {
  if (value != "true" && value != "false") return kNotAllowed;
  to.settings.strict_arp = value == "true";
  return kTaken;
}

Problem when_removed(std::string_view value, Context& to) {
  return settings::word<WhenRemoved>(
      value, to.settings.when_removed,
      {{"keep", WhenRemoved::kKeep}, {"drain", WhenRemoved::kDrain}, {"reset", WhenRemoved::kReset}});
}

// Sorted by key. Everything about a key; docs/reference/fields.md is generated from it.
// clang-format off
constexpr std::array kRows{
    Row{{"drainTimeout", false, "30s", "a duration from 0s to 24h",
         "With whenEndpointRemoved: drain: maximum time for which established connections to a removed endpoint "
         "continue. Whole seconds; a fraction is rounded up."},
        [](std::string_view value, Context& to) { return whole_seconds(value, to.settings.drain, 24h); }},
    Row{{"ipvs.excludeCIDRs", false, "", "nothing, or CIDRs with commas between (--ipvs-exclude-cidrs)",
         "Address ranges whose virtual servers the backend does not change. A Service that wants such an address and "
         "port is not programmed, and is named. Virtual servers of other programs elsewhere stay too, except those "
         "that a Service wants, which the backend adopts."},
        exclude_cidrs},
    Row{{"ipvs.scheduler", false, "rr", "a scheduler of the kernel, such as rr, lc or sh (--ipvs-scheduler)",
         "Scheduler of all virtual servers; empty means rr. The module ip_vs_NAME must be available. sh runs with "
         "its fallback: clients of a draining endpoint move to another one. dh knows one endpoint for each address, "
         "and rejects connections while that one drains."},
        scheduler},
    Row{{"ipvs.strictARP", false, "false", "true or false (--ipvs-strict-arp)",
         "Do not answer ARP requests for addresses of kube-ipvs0: sets arp_ignore and arp_announce. false leaves "
         "these sysctls as they are."},
        strict_arp},
    Row{{"ipvs.tcpFinTimeout", false, "0s",
         "0s (as the kernel has it), or a duration up to 555h (--ipvs-tcpfin-timeout)",
         "IPVS timeout of TCP connections after a FIN, for the whole node; 0s keeps the kernel value."},
        [](std::string_view value, Context& to) { return whole_seconds(value, to.settings.tcp_fin_timeout, kLongest); }},
    Row{{"ipvs.tcpTimeout", false, "0s", "0s (as the kernel has it), or a duration up to 555h (--ipvs-tcp-timeout)",
         "IPVS timeout of idle TCP connections, for the whole node; 0s keeps the kernel value."},
        [](std::string_view value, Context& to) { return whole_seconds(value, to.settings.tcp_timeout, kLongest); }},
    Row{{"ipvs.udpTimeout", false, "0s", "0s (as the kernel has it), or a duration up to 555h (--ipvs-udp-timeout)",
         "IPVS timeout of idle UDP flows, for the whole node; 0s keeps the kernel value."},
        [](std::string_view value, Context& to) { return whole_seconds(value, to.settings.udp_timeout, kLongest); }},
    Row{{"whenEndpointRemoved", false, "keep", "keep, drain or reset",
         "Handling of established TCP connections to a removed endpoint: keep them until they end, drain them (the "
         "endpoint and its connections end after drainTimeout), or reset them at once. New connections, UDP and SCTP "
         "use another endpoint at once."},
        when_removed},
};
// clang-format on

}  // namespace

std::vector<SettingKey> setting_keys() { return settings::keys_of(kRows); }

Settings read_settings(const sdk::Options& options, abi::Family family) {
  Settings read;
  Context context{read, family};
  settings::read(options, kRows, "ipvs", context);
  return read;
}

}  // namespace sluice::ipvs
