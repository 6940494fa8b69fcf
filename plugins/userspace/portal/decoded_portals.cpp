// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/decoded_portals.hpp"

#include <algorithm>
#include <array>

#include "plugins/userspace/portal/portal_listing.hpp"

namespace sluice::userspace {
namespace {

using netfilter::RuleFields;
using netfilter::Table;

constexpr std::uint32_t kPathConditions = std::uint32_t{RuleFields::kDestinationLocal} | RuleFields::kSourceLocal;

std::string jump_of(Table table, std::string_view from, std::string_view to) {
  return std::string(netfilter::table_name(table)).append(" ").append(from).append(" ").append(to);
}

// The frontend of a rule; other matches are ignored.
std::optional<Place> frontend_of(const RuleFields& rule, bool node_port) {
  if (!rule.protocol || !rule.port) return std::nullopt;
  if (node_port) {
    if (rule.destination) return std::nullopt;
    return Place{true, {}, *rule.port, *rule.protocol};
  }
  if (!RuleFields::is_one_address(rule.destination)) return std::nullopt;
  return Place{false, rule.destination->prefix.address, *rule.port, *rule.protocol};
}

std::string first_word(std::string_view text) { return std::string(text.substr(0, text.find(' '))); }

bool is_relay_mark(std::uint32_t mark) {
  return std::find(netfilter::kRelayMarks.begin(), netfilter::kRelayMarks.end(), mark) != netfilter::kRelayMarks.end();
}

bool is_built_in(std::string_view chain) {
  constexpr std::array<std::string_view, 4> kBuiltIn{"PREROUTING", "INPUT", "FORWARD", "OUTPUT"};
  return std::find(kBuiltIn.begin(), kBuiltIn.end(), chain) != kBuiltIn.end();
}

}  // namespace

bool DecodedPortals::has_jump(Table table, std::string_view from, std::string_view to) const {
  return std::find(jumps_.begin(), jumps_.end(), jump_of(table, from, to)) != jumps_.end();
}

void DecodedPortals::on_table(std::string_view name) {
  table_.reset();
  for (const Table table : {Table::kNat, Table::kFilter}) {
    if (netfilter::table_name(table) == name) table_ = table;
  }
}

void DecodedPortals::add(Table table, std::string_view chain, std::string_view rule) {
  table_ = table;
  on_rule(chain, rule);
}

DecodedPortals::Decode DecodedPortals::decoder_of(std::string_view chain) const {
  static constexpr std::array<Decode, kPortalChains.size()> kDecoders{
      &DecodedPortals::read_redirect, &DecodedPortals::read_redirect, &DecodedPortals::read_redirect,
      &DecodedPortals::read_redirect, &DecodedPortals::read_accept,   &DecodedPortals::read_firewall};
  const auto index = find_portal_chain(netfilter::table_name(*table_), chain);
  if (index) return kDecoders[*index];
  return is_built_in(chain) ? &DecodedPortals::read_jump : nullptr;
}

void DecodedPortals::on_rule(std::string_view chain, std::string_view rule) {
  if (!table_) return;
  const Decode decode = decoder_of(chain);
  if (decode == nullptr) return;
  chain_ = chain;
  if ((this->*decode)(reader_.read(rule))) return;
  if (unknown.size() == kMostUnknown) {
    ++more_unknown;
    return;
  }
  unknown.push_back(std::string(netfilter::table_name(*table_)).append(" -A ").append(chain).append(" ").append(rule));
}

// Foreign rules count as understood, so that they are not reported.
bool DecodedPortals::read_jump(const Fields& rule) {
  std::uint32_t conditions = rule.conditions() & ~std::uint32_t{Fields::kNew};
  // Jumps from OUTPUT exclude packets of the relay.
  if (chain_ == "OUTPUT" && is_relay_mark(rule.unmarked)) conditions &= ~std::uint32_t{Fields::kUnmarked};
  if (rule.target != kNodePortContainer && rule.target != kNodePortHost) {
    if (conditions == 0) jumps_.push_back(jump_of(*table_, chain_, rule.target));
    return true;
  }
  const bool arrives = rule.target == kNodePortContainer;
  if (*table_ != Table::kNat || chain_ != (arrives ? "PREROUTING" : "OUTPUT")) return true;
  NodePorts& to = arrives ? arriving : sent;
  const bool all_but_some =
      conditions == (Fields::kDestinationLocal | Fields::kDestination) && rule.destination->negated;
  if (rule.destination_local == Fields::Local::kYes && (conditions == Fields::kDestinationLocal || all_but_some)) {
    to.everywhere = true;
  } else if (conditions == Fields::kDestination && Fields::is_one_address(rule.destination)) {
    to.addresses.push_back(rule.destination->prefix.address);
  }
  return true;
}

bool DecodedPortals::read_redirect(const Fields& rule) {
  const bool node_port = chain_ == kNodePortContainer || chain_ == kNodePortHost;
  const bool arrives = chain_ == kPortalsContainer || chain_ == kNodePortContainer;
  const auto place = frontend_of(rule, node_port);
  const std::uint16_t proxy_port = proxy_port_of(rule.translate_to);
  if (!place || proxy_port == 0 || (rule.target != "DNAT" && rule.target != "REDIRECT")) return false;
  constexpr std::uint32_t kKnown = Fields::kDestination | Fields::kPort | Fields::kSource | Fields::kInterface;
  if ((rule.conditions() & ~kKnown) != 0 || (rule.source && rule.source->negated) || rule.not_interface) return false;
  DecodedRedirect redirect;
  redirect.listener = parse_listener_comment(rule.comment);
  redirect.proxy_port = proxy_port;
  if (rule.source) redirect.source = rule.source->prefix;
  redirect.interface = rule.interface;
  (arrives ? places[*place].arriving : places[*place].sent).push_back(std::move(redirect));
  return true;
}

bool DecodedPortals::read_accept(const Fields& rule) {
  const std::uint32_t conditions = rule.conditions() & ~std::uint32_t{Fields::kNew};
  if (rule.target != "ACCEPT" || conditions != Fields::kPort || !rule.protocol) return false;
  accepted[{*rule.protocol, *rule.port}] = first_word(rule.comment);
  return true;
}

bool DecodedPortals::read_firewall(const Fields& rule) {
  const std::uint32_t conditions = rule.conditions();
  if (rule.target == "DROP" && conditions == (Fields::kPort | Fields::kNotTranslated) && rule.protocol) {
    guarded.insert({*rule.protocol, *rule.port});
    return true;
  }
  const bool passes = rule.target == "RETURN";
  const bool node_port = !rule.destination && rule.destination_local == Fields::Local::kYes;
  const auto place = frontend_of(rule, node_port);
  if (!place || (!passes && rule.target != "DROP" && rule.target != "REJECT")) return false;
  const std::uint32_t rest = conditions & ~std::uint32_t{Fields::kDestination | Fields::kPort};
  if (passes) {
    if ((rest & ~(kPathConditions | Fields::kSource | Fields::kInterface)) != 0) return false;
    DecodedPortal& portal = places[*place];
    // A rule with a condition about the destination, too, stands above one that rejects.
    const bool from_node = rule.source_local == Fields::Local::kYes && rule.destination_local != Fields::Local::kNo;
    portal.passes_node = portal.passes_node || from_node;
    return true;
  }
  if (rest != (node_port ? std::uint32_t{Fields::kDestinationLocal} : 0)) return false;
  const std::string name = first_word(rule.comment);
  if (rule.target == "REJECT") {
    places[*place].rejects = name;
    return true;
  }
  // The two kinds of drop rules differ only in their comments.
  const bool by_source = rule.comment.ends_with("is not for this source");
  (by_source ? places[*place].drops_others : places[*place].drops_without_local) = name;
  return true;
}

}  // namespace sluice::userspace
