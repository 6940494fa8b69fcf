// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/portal_path.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plugins/common/netfilter/rule_reader.hpp"
#include "plugins/common/netfilter/rule_text.hpp"

namespace sluice::userspace {
namespace {

using netfilter::Rule;
using netfilter::RuleFields;
using netfilter::Table;

constexpr std::uint32_t kNotEvaluated = std::uint32_t{RuleFields::kNotFromBridgePort} | RuleFields::kRemembered |
                                        RuleFields::kProbability | RuleFields::kSet | RuleFields::kVirtual |
                                        RuleFields::kMarked | RuleFields::kOther;

constexpr std::array<std::string_view, 6> kEvaluatedTargets{"RETURN", "ACCEPT", "DROP", "REJECT", "DNAT", "REDIRECT"};

bool agrees(RuleFields::Local wanted, bool is_local) {
  return wanted == RuleFields::Local::kAny || (wanted == RuleFields::Local::kYes) == is_local;
}
bool agrees(const std::optional<RuleFields::Match>& wanted, const abi::Address& address) {
  return !wanted || netfilter::contains(wanted->prefix, address) != wanted->negated;
}

class Follower {
 public:
  Follower(const PortalListing& listing, const inspection::Packet& packet, const IsLocalAddress& is_local)
      : listing_(listing), packet_(packet), is_local_(is_local), reader_(packet.family) {
    path_.to_this_node = is_local(packet.address);
  }

  PortalPath follow() {
    walk_built_in(Table::kNat, packet_.of_node ? "OUTPUT" : "PREROUTING");
    if (packet_.of_node) walk_built_in(Table::kFilter, "OUTPUT");
    if (path_.to_this_node) {
      walk_built_in(Table::kFilter, "INPUT");
    } else if (!packet_.of_node) {
      walk_built_in(Table::kFilter, "FORWARD");
    }
    return std::move(path_);
  }

 private:
  enum class Match : std::uint8_t { kNo, kYes, kUnknown };

  Match match(const RuleFields& rule) const {
    if (rule.protocol && *rule.protocol != packet_.protocol) return Match::kNo;
    if (rule.port && *rule.port != port()) return Match::kNo;
    if (!agrees(rule.source, packet_.client)) return Match::kNo;
    // The address of the proxy is not in rules.
    if (rule.destination && path_.proxy_port != 0) return Match::kNo;
    if (!agrees(rule.destination, packet_.address)) return Match::kNo;
    // Only rules for pods of this node name an interface.
    if (!rule.interface.empty() && packet_.of_pod == rule.not_interface) return Match::kNo;
    if (!agrees(rule.source_local, packet_.of_node || is_local_(packet_.client))) return Match::kNo;
    if (!agrees(rule.destination_local, path_.to_this_node)) return Match::kNo;
    // A new connection has no other state.
    if (!rule.states.empty() && !rule.not_states) return Match::kNo;
    if (rule.not_translated && path_.proxy_port != 0) return Match::kNo;
    return (rule.conditions() & kNotEvaluated) == 0 ? Match::kYes : Match::kUnknown;
  }

  std::uint16_t port() const { return path_.proxy_port != 0 ? path_.proxy_port : packet_.port; }

  void walk_built_in(Table table, std::string_view from) {
    const netfilter::Chain* const chain = listing_.rules.chain(netfilter::table_name(table), from);
    if (chain == nullptr || path_.end != PortalPath::End::kPassed) return;
    for (const Rule& rule : chain->rules) {
      if (rule.text.find("KUBE-") == std::string::npos) continue;
      const RuleFields fields = reader_.read(rule.text);
      const auto to = find_portal_chain(netfilter::table_name(table), fields.target);
      if (!to || !is_match(fields, {table, from, &rule, {}, {}})) continue;
      const PathStep jump{table, from, &rule, std::string(fields.target), {}};
      if (walk_portal_chain(*to, jump)) return;
    }
  }

  // Returns whether a rule has decided about the packet in this table.
  bool walk_portal_chain(std::size_t index, const PathStep& jump) {
    const netfilter::Chain* const chain = listing_.chain(index);
    if (chain == nullptr) return false;
    for (const Rule& rule : chain->rules) {
      const RuleFields fields = reader_.read(rule.text);
      PathStep step{kPortalChains[index].table, kPortalChains[index].name, &rule, std::string(fields.target),
                    std::string(fields.comment)};
      if (fields.target.empty() || !is_match(fields, step)) continue;
      if (std::find(kEvaluatedTargets.begin(), kEvaluatedTargets.end(), step.target) == kEvaluatedTargets.end()) {
        path_.unknown.push_back(text_of(step));
        continue;
      }
      path_.steps.push_back(jump);
      const std::uint16_t redirected = proxy_port_of(fields.translate_to);
      path_.steps.push_back(std::move(step));
      return ends(path_.steps.back().target, redirected);
    }
    return false;
  }

  bool ends(std::string_view target, std::uint16_t redirected) {
    if (target == "RETURN") return false;
    if (target == "DROP") path_.end = PortalPath::End::kDropped;
    if (target == "REJECT") path_.end = PortalPath::End::kRejected;
    if (redirected != 0) {
      path_.proxy_port = redirected;
      path_.to_this_node = true;
    }
    return true;
  }

  bool is_match(const RuleFields& fields, const PathStep& step) {
    const Match found = match(fields);
    if (found == Match::kUnknown) path_.unknown.push_back(text_of(step));
    return found == Match::kYes;
  }

  const PortalListing& listing_;
  const inspection::Packet& packet_;
  const IsLocalAddress& is_local_;
  netfilter::RuleReader reader_;
  PortalPath path_;
};

}  // namespace

std::string text_of(const PathStep& step) {
  return std::string(netfilter::table_name(step.table))
      .append(" -A ")
      .append(step.chain)
      .append(" ")
      .append(step.rule->text);
}

PortalPath follow(const PortalListing& listing, const inspection::Packet& packet, const IsLocalAddress& is_local) {
  return Follower(listing, packet, is_local).follow();
}

}  // namespace sluice::userspace
