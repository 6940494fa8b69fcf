// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/settings.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "lib/text.hpp"
#include "plugins/common/netfilter/rule_reader.hpp"
#include "plugins/ipvs/option_table.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/options.hpp"

namespace sluice::ipvs {
namespace {

constexpr std::size_t kLongestScheduler = 15;  // IP_VS_SCHEDNAME_MAXLEN without the NUL

// The kernel has whole seconds; a fraction is rounded up.
std::chrono::seconds whole_seconds(std::chrono::nanoseconds time) { return std::chrono::ceil<std::chrono::seconds>(time); }

bool is_scheduler(std::string_view name) {
  return name.size() <= kLongestScheduler &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
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

}  // namespace

Settings read_settings(const abi::ArrayView& given, abi::Family family) {
  const sdk::Options options(given, sdk::array(kOptions));
  Settings read;
  const sdk::OptionValue& scheduler = options.value("ipvs.scheduler");
  if (!is_scheduler(scheduler.text)) options.reject(scheduler);
  if (!scheduler.text.empty()) read.scheduler = scheduler.text;
  const sdk::OptionValue& excluded = options.value("ipvs.excludeCIDRs");
  for (std::string_view rest = excluded.text; !rest.empty();) {
    const auto one = parse_prefix(lib::take_part(rest, ','));
    if (!one) options.reject(excluded);
    if (one->family == family) read.exclude_cidrs.push_back(one->prefix);
  }
  read.strict_arp = options.boolean("ipvs.strictARP");
  read.tcp_timeout = whole_seconds(options.duration("ipvs.tcpTimeout"));
  read.tcp_fin_timeout = whole_seconds(options.duration("ipvs.tcpFinTimeout"));
  read.udp_timeout = whole_seconds(options.duration("ipvs.udpTimeout"));
  read.when_removed = options.word<WhenRemoved>("whenEndpointRemoved");
  read.drain = whole_seconds(options.duration("drainTimeout"));
  return read;
}

}  // namespace sluice::ipvs
