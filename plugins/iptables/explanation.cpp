// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/explanation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/exact_chain.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::iptables {
namespace {

using abi::InspectedVerdict;
using inspection::add;
using inspection::Remarks;
using netfilter::in_table;
using netfilter::RuleFields;
using Step = inspection::Explanation::Step;
using Chain = PacketRules::Chain;
using Rule = PacketRules::Rule;

// How a chain ends for the packet.
enum class End { kFallsThrough, kAccepted, kRejected, kDropped, kTranslated };

// Loops of chains are not possible in the kernel.
constexpr unsigned kDeepestChain = 64;

constexpr std::array<std::string_view, 7> kPassiveTargets{"", "LOG", "NFLOG", "TRACE", "MARK", "CONNMARK", "CT"};

// What other targets do. `in_nat`: an accepted packet keeps its destination in this table.
struct FinalTarget {
  std::string_view name;
  End end;
  std::string_view effect;
  std::string_view effect_in_nat;
};
constexpr std::array<FinalTarget, 5> kFinalTargets{{
    {"ACCEPT", End::kAccepted, "accepts the packet", "ends the search in table nat"},
    {"DROP", End::kDropped, "drops the packet", "drops the packet"},
    {"REJECT", End::kRejected, "rejects the packet", "rejects the packet"},
    {"MASQUERADE", End::kAccepted, "", "replaces the source address by one of this node"},
    {"SNAT", End::kAccepted, "", "replaces the source address"},
}};

bool is_one_of(std::string_view name, const std::array<std::string_view, 7>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const std::vector<Rule>& rules_of(const Chain* chain) {
  static const std::vector<Rule> kNoRules;
  return chain == nullptr ? kNoRules : chain->rules;
}

// "nat -A KUBE-SERVICES -d …".
Step step_of(Table table, std::string_view chain, const Rule& rule, std::string effect) {
  Step step;
  step.object = std::string(netfilter::table_name(table)).append(" -A ").append(chain).append(" ").append(rule.text);
  step.effect = std::move(effect);
  if (!rule.counts) return step;
  step.counted = true;
  step.packets = rule.counts->packets;
  step.bytes = rule.counts->bytes;
  return step;
}

class Trace {
 public:
  Trace(const PacketRules& rules, const MatchFacts& facts, const IsRemembered& is_remembered, const State* written,
        const inspection::Packet& packet)
      : rules_(rules),
        facts_(facts),
        is_remembered_(is_remembered),
        written_(written),
        family_(packet.family),
        traced_(packet),
        reader_(packet.family) {}

  std::vector<Step> run() {
    enter_hook(Table::kNat, traced_.packet.of_node ? "OUTPUT" : "PREROUTING");
    if (!is_over() && pass_filters() && !is_over()) leave();
    return std::move(steps_);
  }

 private:
  bool is_over() const { return !steps_.empty() && steps_.back().verdict != InspectedVerdict::kContinues; }

  End enter_hook(Table table, std::string_view chain) {
    hook_ = in_table(table, chain);
    hooks_.emplace_back(table, chain);
    undecided_ = 0;
    return walk(table, chain, 0);
  }

  // Returns whether the packet passes.
  bool pass_filters() {
    const bool here = std::all_of(traced_.destinations.begin(), traced_.destinations.end(),
                                  [&](const auto& to) { return facts_.is_local(to.address, family_); });
    if (traced_.packet.of_node && !pass_filter("OUTPUT")) return false;
    if (here) return pass_filter("INPUT");
    return traced_.packet.of_node || pass_filter("FORWARD");
  }

  bool pass_filter(std::string_view hook) {
    const End end = enter_hook(Table::kFilter, hook);
    if (end == End::kRejected || end == End::kDropped) {
      steps_.back().verdict = end == End::kDropped ? InspectedVerdict::kDropped : InspectedVerdict::kRejected;
      return false;
    }
    if (end == End::kAccepted || !traced_.translated) return true;
    const Chain* const chain = rules_.find(Table::kFilter, hook);
    const bool drops = chain != nullptr && chain->drops;
    Step step = step_of(Table::kFilter, hook, {{}, chain == nullptr ? std::nullopt : chain->counts},
                        drops ? "drops the packet" : "accepts the packet");
    step.object = "policy of filter " + std::string(hook);
    if (drops) step.verdict = InspectedVerdict::kDropped;
    steps_.push_back(std::move(step));
    return !drops;
  }

  void leave() {
    if (!traced_.translated) return add_not_proxied();
    const bool forwarded = hooks_.back().second != "INPUT" || traced_.packet.of_node;
    masquerades_ = false;
    if (forwarded) enter_hook(Table::kNat, "POSTROUTING");
    Step& last = steps_.back();
    if (traced_.marked && !masquerades_) add(last.remarks, "nat POSTROUTING does not masquerade the marked packet");
    last.verdict = InspectedVerdict::kServed;
    last.targets = targets_;
    last.masquerades = masquerades_;
  }

  void add_not_proxied() {
    Step step;
    const auto& [table, hook] = hooks_.front();
    step.object = in_table(table, reached_services_ ? name(SharedChain::kNatServices) : hook);
    step.effect = reached_services_ ? "no rule translates the destination " + destination()
                                    : "no rule leads to chain " + std::string(name(SharedChain::kNatServices));
    step.verdict = InspectedVerdict::kNotProxied;
    if (written_ != nullptr) add_missing_rules(step.remarks);
    steps_.push_back(std::move(step));
  }

  std::string destination() const {
    return inspection::to_string(
        inspection::Place{false, traced_.packet.address, traced_.packet.port, traced_.packet.protocol}, family_);
  }

  // Rules that were written for this packet, and are not in the kernel.
  void add_missing_rules(Remarks& remarks) {
    const auto expect = [&](Table table, std::string_view chain, const std::string& text) {
      const Chain* const found = rules_.find(table, chain);
      const std::uint64_t wanted = canonicaliser_.hash(text);
      if (found != nullptr && std::any_of(found->rules.begin(), found->rules.end(), [&](const Rule& rule) {
            return canonicaliser_.hash(rule.text) == wanted;
          })) {
        return;
      }
      add(remarks, "the rule \"" + text + "\" of " + in_table(table, chain) + " is missing");
    };
    for (const Jump& jump : written_->fixed.jumps) {
      const std::pair<Table, std::string> from(jump.table, jump.from);
      if (jump.removable && std::find(hooks_.begin(), hooks_.end(), from) != hooks_.end()) {
        expect(jump.table, jump.from, jump.text);
      }
    }
    for (const auto& [key, service] : written_->services()) {
      for (const KnownRule& known : service.shared) {
        if (match(reader_.read(known.rule.text), traced_, facts_) != Matches::kYes) continue;
        expect(table(known.chain), name(known.chain), known.rule.text);
      }
    }
    for (const netfilter::Rule& rule : written_->tail) {
      if (match(reader_.read(rule.text), traced_, facts_) != Matches::kYes) continue;
      expect(Table::kNat, name(SharedChain::kNatServices), rule.text);
    }
  }

  End walk(Table table, const std::string_view chain_name, unsigned depth) {
    const auto id = table == Table::kNat ? parse_chain(chain_name) : std::nullopt;
    const Chain* const chain = rules_.find(table, chain_name);
    reached_services_ = reached_services_ || (table == Table::kNat && chain_name == name(SharedChain::kNatServices));
    if (id && id->kind == ChainKind::kEndpoint) return choose({{*id, false}}, chain_name, {});
    if (id && comments_are_optional(id->kind)) return balance(chain_name, chain);
    if (chain == nullptr || depth > kDeepestChain) return id ? leads_nowhere(chain_name, chain) : End::kFallsThrough;
    for (const Rule& rule : chain->rules) {
      const RuleFields& fields = reader_.read(rule.text);
      const Matches matches = match(fields, traced_, facts_);
      if (matches == Matches::kNo) continue;
      if (fields.target == "MARK" && chain_name == kMarkMasquerade && matches == Matches::kYes) traced_.marked = true;
      if (is_one_of(fields.target, kPassiveTargets)) continue;
      if (matches == Matches::kMaybe) {
        add_undecided(table, chain_name, rule);
        continue;
      }
      if (fields.target == "RETURN") {
        if (id || parse_shared(netfilter::table_name(table), chain_name)) {
          steps_.push_back(step_of(table, chain_name, rule, "leaves the chain"));
        }
        return End::kFallsThrough;
      }
      const std::string target(fields.target);
      const std::string translation(fields.translate_to);
      const End end = take(table, chain_name, rule, target, translation, depth);
      if (end != End::kFallsThrough) return end;
    }
    return id ? leads_nowhere(chain_name, chain) : End::kFallsThrough;
  }

  End take(Table table, std::string_view chain_name, const Rule& rule, const std::string& target,
           const std::string& translation, unsigned depth) {
    for (const FinalTarget& known : kFinalTargets) {
      if (known.name != target) continue;
      const bool in_nat = table == Table::kNat;
      steps_.push_back(step_of(table, chain_name, rule, std::string(in_nat ? known.effect_in_nat : known.effect)));
      masquerades_ = target == "MASQUERADE" || target == "SNAT";
      steps_.back().masquerades = masquerades_;
      return known.end;
    }
    if (rules_.find(table, target) != nullptr || is_ours(netfilter::table_name(table), target)) {
      return jump(table, chain_name, rule, target, depth);
    }
    if (translation.empty()) {
      add_undecided(table, chain_name, rule);
      return End::kFallsThrough;
    }
    Step step = step_of(table, chain_name, rule, "translates the destination to " + translation);
    step.verdict = InspectedVerdict::kNotProxied;
    steps_.push_back(std::move(step));
    return End::kTranslated;
  }

  End jump(Table table, std::string_view chain_name, const Rule& rule, const std::string& target, unsigned depth) {
    const bool marks = target == kMarkMasquerade;
    steps_.push_back(step_of(table, chain_name, rule,
                             marks ? "marks the packet for masquerading" : "jumps to chain " + target));
    const std::size_t before = steps_.size();
    const End end = walk(table, target, depth + 1);
    if (marks && table == Table::kNat) {
      steps_[before - 1].masquerades = traced_.marked;
      if (!traced_.marked) add(steps_[before - 1].remarks, "KUBE-MARK-MASQ marks no packets");
    } else if (end == End::kFallsThrough && steps_.size() == before) {
      steps_.pop_back();  // nothing was decided there
    }
    return end;
  }

  // One step for each hook.
  void add_undecided(Table table, std::string_view chain_name, const Rule& rule) {
    if (undecided_++ == 0) {
      undecided_step_ = steps_.size();
      first_undecided_ = step_of(table, chain_name, rule, {}).object;
      steps_.push_back({.object = hook_});
    }
    steps_[undecided_step_].effect =
        (undecided_ == 1 ? "1 rule has" : std::to_string(undecided_) + " rules have") +
        " conditions or targets that cannot be evaluated here; assumed not to apply, first: " + first_undecided_;
  }

  // A chain of a service port that sends the packet to no endpoint.
  End leads_nowhere(std::string_view chain_name, const Chain* chain) {
    Step step{.object = "chain " + in_table(Table::kNat, chain_name), .effect = "sends this packet to no endpoint"};
    if (chain == nullptr) {
      add(step.remarks, "chain is missing");
    } else if (chain->count == 0) {
      add(step.remarks, "chain is empty");
    } else if (chain_name.starts_with(prefix(ChainKind::kFirewall))) {
      step.effect = "accepts no source range that contains " + sdk::to_string(traced_.packet.client, family_);
    }
    steps_.push_back(std::move(step));
    return End::kFallsThrough;
  }

  struct Choice {
    ChainId endpoint;
    bool remembered;  // its list has the client
  };

  End balance(std::string_view chain_name, const Chain* chain) {
    std::vector<Choice> choices;
    double left = 1;  // the share of connections that earlier rules have not taken
    std::uint32_t seconds = 0;
    std::optional<ChainId> remembered;
    for (const Rule& rule : rules_of(chain)) {
      const RuleFields& fields = reader_.read(rule.text);
      const auto endpoint = parse_chain(fields.target);
      const bool chooses = endpoint && endpoint->kind == ChainKind::kEndpoint;
      if (chooses && fields.conditions() == RuleFields::kRemembered) {
        seconds = std::max(seconds, fields.seconds);
        const std::string list(fields.list);
        if (!remembered && is_remembered_(list, fields.seconds)) remembered = endpoint;
      } else if (chooses && (fields.conditions() & ~std::uint32_t{RuleFields::kProbability}) == 0) {
        const double share = left * fields.probability.value_or(1);
        choices.push_back({*endpoint, remembered == endpoint});
        left -= share;
      } else if (match(fields, traced_, facts_) == Matches::kMaybe) {
        add_undecided(Table::kNat, chain_name, rule);
      } else if (fields.target == kMarkMasquerade) {
        jump(Table::kNat, chain_name, rule, std::string(fields.target), 1);
      } else if (!is_one_of(fields.target, kPassiveTargets)) {
        const std::string target(fields.target);
        steps_.push_back(step_of(Table::kNat, chain_name, rule, "ends the chain"));
        if (target != "RETURN") return End::kAccepted;
        break;
      }
      if (left <= 0) break;
    }
    if (choices.empty()) return leads_nowhere(chain_name, chain);
    std::string effect = choices.size() == 1
                             ? "sends the packet to the only endpoint"
                             : "chooses one of " + std::to_string(choices.size()) + " endpoints at random";
    if (seconds != 0) effect += ", and again the same for " + std::to_string(seconds) + " s";
    const End end = choose(choices, chain_name, std::move(effect));
    if (left > 0.0001 && end == End::kTranslated) {
      add(steps_.back().remarks, std::to_string(std::lround(left * 100)) + " % of connections reach no endpoint");
    }
    return end;
  }

  End choose(const std::vector<Choice>& choices, std::string_view chain_name, std::string effect) {
    std::vector<netfilter::HostPort> destinations;
    std::size_t marked = 0;
    for (const Choice& choice : choices) targets_.push_back(target(choice, destinations, marked));
    Step step{.object = "chain " + in_table(Table::kNat, chain_name),
              .effect = effect.empty() ? "sends the packet to its endpoint" : std::move(effect),
              .targets = targets_};
    steps_.push_back(std::move(step));
    if (destinations.empty()) {
      add(steps_.back().remarks, "no chain of an endpoint translates the destination");
      targets_.clear();
      return End::kFallsThrough;
    }
    traced_.destinations = std::move(destinations);
    traced_.translated = true;
    traced_.marked = traced_.marked || marked == choices.size();
    return End::kTranslated;
  }

  // Adds to `destinations` if the chain of the endpoint translates.
  inspection::Target target(const Choice& choice, std::vector<netfilter::HostPort>& destinations, std::size_t& marked) {
    inspection::Target made;
    const std::string chain_name = name(choice.endpoint);
    const Chain* const chain = rules_.find(Table::kNat, chain_name);
    for (const Rule& rule : rules_of(chain)) {
      const RuleFields& fields = reader_.read(rule.text);
      if (match(fields, traced_, facts_) != Matches::kYes) continue;
      if (fields.target == kMarkMasquerade) {
        ++marked;
        add(made.remarks, "masqueraded, because the client is this endpoint");
      } else if (fields.target == "DNAT") {
        const auto to = netfilter::parse_host_port(fields.translate_to, family_);
        if (!to) continue;
        made.address = to->address;
        made.port = to->port;
        if (choice.remembered) add(made.remarks, "this client is bound to it");
        destinations.push_back(*to);
        return made;
      }
    }
    made.object = chain_name;
    add(made.remarks, chain == nullptr ? "chain is missing" : chain->count == 0 ? "chain is empty" : "no DNAT rule");
    return made;
  }

  const PacketRules& rules_;
  const MatchFacts& facts_;
  const IsRemembered& is_remembered_;
  const State* written_;
  const abi::Family family_;
  TracedPacket traced_;
  netfilter::RuleReader reader_;
  netfilter::Canonicaliser canonicaliser_;
  std::vector<Step> steps_;
  std::vector<inspection::Target> targets_;
  std::string hook_;                                       // "nat PREROUTING"
  std::vector<std::pair<Table, std::string>> hooks_;       // that the packet has met
  std::size_t undecided_ = 0;                              // rules of this hook
  std::size_t undecided_step_ = 0;
  std::string first_undecided_;
  bool reached_services_ = false;
  bool masquerades_ = false;
};

}  // namespace

void explain(const PacketRules& rules, const MatchFacts& facts, const IsRemembered& is_remembered, const State* written,
             inspection::Explanation& steps) {
  for (Step& step : Trace(rules, facts, is_remembered, written, steps.packet()).run()) steps.add(std::move(step));
}

}  // namespace sluice::iptables
