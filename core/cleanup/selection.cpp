// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/selection.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/text.hpp"
#include "names/claims.hpp"

namespace sluice::cleanup {
namespace {

using names::kChainKind;
using names::kLinkKind;
using names::kNftKind;
using names::kServersKind;
using names::kServiceLink;
using names::kSetKind;
using names::kVirtualServers;

// A shorter prefix may match objects of other programs.
constexpr std::size_t kShortestPrefix = 5;

constexpr std::array<std::string_view, 6> kNftFamilies = {"ip", "ip6", "inet", "arp", "bridge", "netdev"};
// iptables-nft keeps the rules of all programs in tables of these names.
constexpr std::array<std::string_view, 5> kSharedTables = {"filter", "nat", "mangle", "raw", "security"};

}  // namespace

bool Selection::parse(lib::Family family, std::string_view text, Claim& into) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  into = {family, std::string(text.substr(0, slash)), {}, {}};
  if (into.kind == names::kIpv6ChainKind) {
    into.kind = kChainKind;
    into.family = lib::Family::ipv6;
  }
  std::string_view rest = text.substr(slash + 1);
  if (into.kind == kChainKind || into.kind == kNftKind) {
    const std::size_t second = rest.find('/');
    if (second == std::string_view::npos) return false;
    into.place = rest.substr(0, second);
    rest.remove_prefix(second + 1);
  }
  into.name = rest;
  if (into.is_pattern()) rest.remove_suffix(1);
  return !rest.empty() && rest.find_first_of("*/ ") == std::string_view::npos;
}

bool Selection::covered(const Claims& claims, lib::Family family, std::string_view kind, std::string_view place,
                        std::string_view name) {
  return std::any_of(claims.begin(), claims.end(), [&](const Claim& claim) {
    return claim.family == family && claim.kind == kind && claim.place == place && claim.covers(name);
  });
}

void Selection::keep(lib::Family family, std::string_view claim) {
  if (Claim parsed; parse(family, claim, parsed)) keep_.push_back(std::move(parsed));
}

bool Selection::add(lib::Family family, std::string_view claim) {
  Claim parsed;
  if (!parse(family, claim, parsed)) return false;
  if (parsed.is_pattern() && parsed.name.size() <= kShortestPrefix) return false;
  if (parsed.kind == kChainKind) {
    // "KUBE-*" would match the chains of kubelet.
    const bool vague = parsed.name == "KUBE-*";
    if (vague || names::is_kubelet_chain(parsed.name) || !names::parse_table(parsed.place)) return false;
  } else if (parsed.kind == kNftKind) {
    if (parsed.is_pattern() || !lib::contains(kNftFamilies, parsed.place) || lib::contains(kSharedTables, parsed.name))
      return false;
  } else if (parsed.kind == kLinkKind) {
    if (parsed.is_pattern() || parsed.name == "lo") return false;
  } else if (parsed.kind == kServersKind) {
    if (parsed.is_pattern() || parsed.name != kVirtualServers.name) return false;
  } else if (parsed.kind != kSetKind) {
    return false;
  }
  add_.push_back(std::move(parsed));
  return true;
}

Selection Selection::without_virtual_servers() const {
  Selection out = *this;
  out.servers_stay_ = true;
  return out;
}

bool Selection::chain(lib::Family family, std::string_view table, std::string_view chain) const {
  if (names::is_kubelet_chain(chain) || covered(keep_, family, kChainKind, table, chain)) return false;
  const Modes makers = makers_of_chain(table, chain);
  if ((makers & gone_) != 0 && (makers & kept_) == 0) return true;
  return covered(add_, family, kChainKind, table, chain);
}

bool Selection::is_claimed_chain(lib::Family family, std::string_view table, std::string_view chain) const {
  return makers_of_chain(table, chain) == 0 && this->chain(family, table, chain);
}

bool Selection::jump(const KnownJump& jump) const {
  return (jump.makers & gone_) != 0 && (jump.makers & kept_) == 0 &&
         (makers_of_chain(jump.table, jump.to) & kept_) != 0;
}

bool Selection::set(std::string_view name) const {
  const auto any = [&](const Claims& claims) {
    return std::any_of(lib::kFamilies.begin(), lib::kFamilies.end(),
                       [&](lib::Family family) { return covered(claims, family, kSetKind, {}, name); });
  };
  if (any(keep_)) return false;
  const Modes makers = makers_of_set(name);
  if (servers_stay_ && (makers & kVirtualServers.modes) != 0) return false;
  return ((makers & gone_) != 0 && (makers & kept_) == 0) || any(add_);
}

bool Selection::virtual_servers() const {
  const auto named = [](const Claims& claims) {
    return std::any_of(claims.begin(), claims.end(), [](const Claim& claim) {
      return claim.kind == kServersKind && claim.covers(kVirtualServers.name);
    });
  };
  return !servers_stay_ && !named(keep_) && ((gone_ & kVirtualServers.modes) != 0 || named(add_));
}

bool Selection::table(std::string_view family, std::string_view name) const {
  const auto any = [&](const Claims& claims) {
    return std::any_of(lib::kFamilies.begin(), lib::kFamilies.end(),
                       [&](lib::Family one) { return covered(claims, one, kNftKind, family, name); });
  };
  if (any(keep_)) return false;
  const bool kube_proxys =
      name == names::kNftTable.name && (family == names::nft_family(false) || family == names::nft_family(true));
  return (kube_proxys && (gone_ & names::kNftTable.modes) != 0) || any(add_);
}

std::vector<std::string> Selection::links() const {
  std::vector<std::string> out;
  if ((gone_ & kServiceLink.modes) != 0) out.emplace_back(kServiceLink.name);
  for (const Claim& claim : add_) {
    if (claim.kind == kLinkKind && !lib::contains(out, claim.name)) out.push_back(claim.name);
  }
  std::erase_if(out, [&](const std::string& name) {
    return (servers_stay_ && name == kServiceLink.name) ||
           std::any_of(keep_.begin(), keep_.end(),
                       [&](const Claim& claim) { return claim.kind == kLinkKind && claim.covers(name); });
  });
  return out;
}

Modes Selection::mode_of_chain(std::string_view table, std::string_view chain) const {
  return makers_of_chain(table, chain) & gone_;
}

}  // namespace sluice::cleanup
