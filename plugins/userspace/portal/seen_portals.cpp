// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/seen_portals.hpp"

#include <algorithm>
#include <array>

#include "plugins/userspace/portal/portal_look.hpp"

namespace sluice::userspace {
namespace {

using netfilter::RuleFields;
using netfilter::Table;

constexpr std::uint32_t kWays =
    std::uint32_t{RuleFields::kNotFromBridgePort} | RuleFields::kDestinationLocal | RuleFields::kSourceLocal;

std::string jump_of(Table table, std::string_view from, std::string_view to) {
  return std::string(netfilter::table_name(table)).append(" ").append(from).append(" ").append(to);
}

// The frontend a rule is for, whatever else it asks of the packet.
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

std::uint16_t proxy_port_of(std::string_view to) {
  const std::size_t colon = to.rfind(':');
  return netfilter::parse_port(colon == std::string_view::npos ? to : to.substr(colon + 1)).value_or(0);
}

bool is_relay_mark(std::uint32_t mark) {
  return std::find(netfilter::kRelayMarks.begin(), netfilter::kRelayMarks.end(), mark) != netfilter::kRelayMarks.end();
}

bool is_built_in(std::string_view chain) {
  constexpr std::array<std::string_view, 4> kBuiltIn{"PREROUTING", "INPUT", "FORWARD", "OUTPUT"};
  return std::find(kBuiltIn.begin(), kBuiltIn.end(), chain) != kBuiltIn.end();
}

}  // namespace

bool SeenPortals::has_jump(Table table, std::string_view from, std::string_view to) const {
  return std::find(jumps_.begin(), jumps_.end(), jump_of(table, from, to)) != jumps_.end();
}

void SeenPortals::on_table(std::string_view name) {
  table_.reset();
  for (const Table table : {Table::kNat, Table::kFilter}) {
    if (netfilter::table_name(table) == name) table_ = table;
  }
}

void SeenPortals::add(Table table, std::string_view chain, std::string_view rule) {
  table_ = table;
  on_rule(chain, rule);
}

SeenPortals::Decode SeenPortals::decoder_of(std::string_view chain) const {
  static constexpr std::array<Decode, kPortalChains.size()> kDecoders{
      &SeenPortals::read_lead, &SeenPortals::read_lead,   &SeenPortals::read_lead,
      &SeenPortals::read_lead, &SeenPortals::read_accept, &SeenPortals::read_firewall};
  const auto index = find_portal_chain(netfilter::table_name(*table_), chain);
  if (index) return kDecoders[*index];
  return is_built_in(chain) ? &SeenPortals::read_jump : nullptr;
}

void SeenPortals::on_rule(std::string_view chain, std::string_view rule) {
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

// Rules of others are understood: nothing has to be said of them.
bool SeenPortals::read_jump(const Fields& rule) {
  std::uint32_t conditions = rule.conditions() & ~std::uint32_t{Fields::kNew};
  // Processes of the node are led there, but for the relay.
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

bool SeenPortals::read_lead(const Fields& rule) {
  const bool node_port = chain_ == kNodePortContainer || chain_ == kNodePortHost;
  const bool arrives = chain_ == kPortalsContainer || chain_ == kNodePortContainer;
  const auto place = frontend_of(rule, node_port);
  const std::uint16_t proxy_port = proxy_port_of(rule.translate_to);
  if (!place || proxy_port == 0 || (rule.target != "DNAT" && rule.target != "REDIRECT")) return false;
  const std::uint32_t rest = rule.conditions() & ~std::uint32_t{Fields::kDestination | Fields::kPort};
  const std::uint32_t way = rest & kWays;
  const std::uint32_t clients = rest & ~kWays;
  if ((clients & ~std::uint32_t{Fields::kSource | Fields::kInterface}) != 0 || (way & Fields::kSourceLocal) != 0 ||
      (way != 0 && way != Fields::kNotFromBridgePort && way != Fields::kDestinationLocal) ||
      rule.destination_local == Fields::Local::kNo || (rule.source && rule.source->negated) || rule.not_interface) {
    return false;
  }
  SeenLead lead;
  lead.face = parse_face_comment(rule.comment);
  lead.proxy_port = proxy_port;
  if (rule.source) lead.source = rule.source->prefix;
  lead.interface = rule.interface;
  lead.to_others = way != Fields::kDestinationLocal;
  lead.to_node = way != Fields::kNotFromBridgePort;
  std::vector<SeenLead>& leads = arrives ? places[*place].arriving : places[*place].sent;
  for (SeenLead& one : leads) {
    if (one.proxy_port != proxy_port || one.source != lead.source || one.interface != lead.interface ||
        one.face.name != lead.face.name || one.face.local != lead.face.local) {
      continue;
    }
    one.to_others = one.to_others || lead.to_others;
    one.to_node = one.to_node || lead.to_node;
    return true;
  }
  leads.push_back(std::move(lead));
  return true;
}

bool SeenPortals::read_accept(const Fields& rule) {
  const std::uint32_t conditions = rule.conditions() & ~std::uint32_t{Fields::kNew};
  if (rule.target != "ACCEPT" || conditions != Fields::kPort || !rule.protocol) return false;
  accepted[{*rule.protocol, *rule.port}] = first_word(rule.comment);
  return true;
}

bool SeenPortals::read_firewall(const Fields& rule) {
  const std::uint32_t conditions = rule.conditions();
  if (rule.target == "DROP" && conditions == (Fields::kPort | Fields::kNotTranslated) && rule.protocol) {
    guarded.insert({*rule.protocol, *rule.port});
    return true;
  }
  const bool drops = rule.target == "DROP";
  const bool node_port = !rule.destination && rule.destination_local == Fields::Local::kYes;
  const auto place = frontend_of(rule, node_port);
  if (!place || (!drops && rule.target != "RETURN")) return false;
  const std::uint32_t rest = conditions & ~std::uint32_t{Fields::kDestination | Fields::kPort};
  if (!drops) {
    if ((rest & ~(kWays | Fields::kSource | Fields::kInterface)) != 0) return false;
    SeenPortal& portal = places[*place];
    portal.passes_node = portal.passes_node || rule.source_local == Fields::Local::kYes;
    return true;
  }
  if ((rest & ~kWays) != 0) return false;
  const std::string name = first_word(rule.comment);
  // The two kinds differ in nothing but their comments.
  const bool by_source = rule.comment.ends_with("is not for this source");
  (by_source ? places[*place].drops_others : places[*place].drops_without_local) = name;
  return true;
}

}  // namespace sluice::userspace
