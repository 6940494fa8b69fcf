// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/rules/rule_writer.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/damage.hpp"
#include "plugins/ipvs/rules/rule_cleanup.hpp"
#include "plugins/ipvs/rules/rule_look.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace {

using netfilter::RestoreInput;
using netfilter::Table;

// A look that took t is not repeated before 20 t: at most a twentieth of one processor,
// however often others change their rules.
constexpr std::uint64_t kRestAfterLook = 20;

// Each removal makes iptables compare its way through the chain: from here on it is
// cheaper to write the chain again.
constexpr std::size_t kFewRemovals = 50;

const std::vector<netfilter::Rule> kNoRules;

// Every rule of it drops, so it does not matter in which order they stand, and single rules may come and go.
bool is_unordered(const RuleChain& chain) { return chain.name == kOutFilterChain; }

const std::vector<netfilter::Rule>& rules_of(const RuleLook& look, const RuleChain& chain) {
  const netfilter::Chain* found = look.chain(chain.table, chain.name);
  return found == nullptr ? kNoRules : found->rules;
}

// What has to come and to go for an unordered chain.
struct Difference {
  std::vector<const std::string*> come;
  std::vector<const std::string*> go;
  bool empty() const noexcept { return come.empty() && go.empty(); }
};

Difference difference(const std::vector<netfilter::Rule>& present, const std::vector<std::string>& wanted,
                      netfilter::Canonicaliser& canonicaliser) {
  std::unordered_multimap<std::uint64_t, const std::string*> left;
  for (const netfilter::Rule& rule : present) left.emplace(rule.hash, &rule.text);
  Difference found;
  for (const std::string& rule : wanted) {
    const auto same = left.find(canonicaliser.hash(rule));
    if (same == left.end()) {
      found.come.push_back(&rule);
    } else {
      left.erase(same);
    }
  }
  for (const auto& [hash, text] : left) found.go.push_back(text);
  std::sort(found.go.begin(), found.go.end(), [](const auto* a, const auto* b) { return *a < *b; });
  return found;
}

void write_difference(const RuleChain& chain, const Difference& changed, RestoreInput& input) {
  if (changed.go.size() > kFewRemovals) {
    netfilter::write(chain, input);
    return;
  }
  for (const std::string* rule : changed.go) input.remove(chain.table, chain.name, *rule);
  for (const std::string* rule : changed.come) input.append(chain.table, chain.name, *rule);
}

// Why the tool refused a rule, with what this rule cannot do without.
sdk::Failure explained(const netfilter::Refusal& refusal) {
  const std::string why = netfilter::sentence(refusal);
  const std::string& line = refusal.line ? refusal.line->text : why;
  constexpr std::string_view kMatchSet = "--match-set ";
  if (const std::size_t at = line.find(kMatchSet); at != std::string::npos) {
    const std::size_t begin = at + kMatchSet.size();
    const std::string set = line.substr(begin, line.find(' ', begin) - begin);
    return {refusal.why.code(), set,
            "write rules: they need the set " + set +
                " (made before; somebody may have destroyed it since) and the kernel module xt_set: " + why};
  }
  if (line.find("-m ipvs ") != std::string::npos) {
    return {
        refusal.why.code(), std::string(kOutFilterChain),
        "write rules: those for load balancer addresses closed to this node need the kernel module xt_ipvs: " + why};
  }
  return {refusal.why.code(), {}, "write rules: " + why};
}

}  // namespace

struct RuleWriter::State {
  State(netfilter::Kernel& kernel, abi::Family of, Now clock) : session(kernel), family(of), now(std::move(clock)) {}

  void send(const RestoreInput& input) {
    if (const auto refusal = session.try_send(input)) throw explained(*refusal);
  }

  // Of table filter, or of both. Tables are committed one after the other, filter first (RestoreInput), so that
  // whatever IPVS and table nat let in from then on meets its source ranges: the other way round there would be a
  // moment without. Packets to service addresses do not come before these are bound, which is after all rules; and
  // those of mode iptables that is being replaced carry another destination in table filter, its own, and do not match.
  RestoreInput input_for(const RulePlan& plan, const RuleLook& look, bool with_nat) {
    RestoreInput input;
    for (const RuleChain& chain : plan.chains) {
      if (chain.table == Table::kNat && !with_nat && chain.name != kHandoverChain) continue;
      if (is_unordered(chain)) {
        if (look.chain(chain.table, chain.name) == nullptr) {
          netfilter::write(chain, input);
        } else {
          write_difference(chain, difference(rules_of(look, chain), chain.rules, canonicaliser), input);
        }
      } else if (!netfilter::holds(look.rules, chain.table, chain.name,
                                   netfilter::content_of(chain.rules, canonicaliser))) {
        netfilter::write(chain, input);
      }
    }
    for (const RuleJump& jump : plan.jumps) {
      if (jump.table == Table::kNat && !with_nat && !jump.rule.ends_with(kHandoverChain)) continue;
      if (netfilter::contains(look.rules, jump.table, jump.from, jump.rule, canonicaliser)) continue;
      input.insert(jump.table, jump.from, jump.rule);
    }
    return input;
  }

  bool write_full(const RulePlan& plan, Wait wait) {
    valid = false;
    const RuleLook look = look_at_rules(session);
    session.accept();
    const bool waits = wait == Wait::kAlways || (wait == Wait::kForIptables && look.served_by_iptables);
    send(input_for(plan, look, !waits));
    if (waits) return true;
    written = plan;
    valid = true;
    next_look = 0;
    return false;
  }

  // From what was written last, without looking.
  RestoreInput changes_to(const RulePlan& plan) {
    RestoreInput input;
    for (std::size_t i = 0; i < plan.chains.size(); ++i) {
      const RuleChain& before = written.chains[i];
      const RuleChain& after = plan.chains[i];
      if (before.rules == after.rules) continue;
      if (is_unordered(after)) {
        std::vector<netfilter::Rule> present;
        for (const std::string& rule : before.rules) present.push_back({canonicaliser.hash(rule), rule});
        write_difference(after, difference(present, after.rules, canonicaliser), input);
      } else {
        netfilter::write(after, input);
      }
    }
    return input;
  }

  // As changes_to(); nothing but these is looked at closely, however many others there are.
  RestoreInput close(const std::vector<ServerKey>& come, const std::vector<ServerKey>& go) {
    RuleChain& chain = *std::find_if(written.chains.begin(), written.chains.end(), is_unordered);
    std::set<std::string> new_rules, old_rules;
    for (const ServerKey& key : come) new_rules.insert(out_filter_rule(key, family));
    for (const ServerKey& key : go) old_rules.insert(out_filter_rule(key, family));
    Difference changed;
    for (const std::string& rule : new_rules) changed.come.push_back(&rule);
    for (const std::string& rule : old_rules) changed.go.push_back(&rule);
    if (!go.empty()) std::erase_if(chain.rules, [&](const std::string& rule) { return old_rules.contains(rule); });
    chain.rules.insert(chain.rules.end(), new_rules.begin(), new_rules.end());
    RestoreInput input;
    write_difference(chain, changed, input);
    return input;
  }

  void send_change(const RestoreInput& input, const RulePlan& plan) {
    valid = false;
    // What was refused may have been removed by somebody else: a look shows.
    if (session.try_send(input)) {
      write_full(plan, Wait::kNo);
      return;
    }
    written = plan;
    valid = true;
  }

  void begin_change() {
    if (!valid) throw sdk::Failure(abi::Code::kNeedFull, {}, "a change of rules needs a full transaction before it");
    session.reset_counters();
  }

  netfilter::Damage compare(const RuleLook& look) {
    netfilter::Damage damage;
    for (const RuleJump& jump : written.jumps) {
      netfilter::expect_rule(look.rules, jump.table, jump.from, jump.rule, canonicaliser, damage);
    }
    for (const RuleChain& chain : written.chains) {
      if (!is_unordered(chain) || look.chain(chain.table, chain.name) == nullptr) {
        netfilter::expect_content(look.rules, chain.table, chain.name,
                                  netfilter::content_of(chain.rules, canonicaliser), damage);
      } else if (!difference(rules_of(look, chain), chain.rules, canonicaliser).empty()) {
        damage.add([&] { return netfilter::in_table(chain.table, chain.name) + " was changed"; });
      }
    }
    return damage;
  }

  netfilter::KernelSession session;
  const abi::Family family;
  const Now now;
  netfilter::Canonicaliser canonicaliser;
  RulePlan written;
  bool valid = false;  // the kernel holds `written`, as far as it depends on us
  std::uint64_t next_look = 0;
};

RuleWriter::RuleWriter(netfilter::Kernel& kernel, abi::Family family, Now now)
    : state_(std::make_unique<State>(kernel, family, std::move(now))) {}
RuleWriter::~RuleWriter() = default;

bool RuleWriter::write_full(const RulePlan& plan, Wait wait) {
  state_->session.reset_counters();
  return state_->write_full(plan, wait);
}

void RuleWriter::write_change(const RulePlan& plan) {
  State& s = *state_;
  s.begin_change();
  s.send_change(s.changes_to(plan), plan);
}

void RuleWriter::write_closed(const std::vector<ServerKey>& close, const std::vector<ServerKey>& reopen) {
  State& s = *state_;
  s.begin_change();
  s.send_change(s.close(close, reopen), s.written);
}

bool RuleWriter::differs(const RulePlan& plan) const {
  if (!state_->valid) return true;
  const auto same = [](const RuleChain& a, const RuleChain& b) { return a.rules == b.rules; };
  return !std::equal(plan.chains.begin(), plan.chains.end(), state_->written.chains.begin(),
                     state_->written.chains.end(), same);
}

std::optional<std::string> RuleWriter::find_damage() {
  State& s = *state_;
  if (!s.valid) return "the rules are not in place yet";
  const std::uint64_t begin = s.now();
  if (begin < s.next_look) return std::nullopt;
  if (s.session.kernel().tools().variant == netfilter::Variant::kNft && s.session.untouched()) return std::nullopt;
  const netfilter::Damage damage = s.compare(look_at_rules(s.session));
  const std::uint64_t end = s.now();
  s.next_look = end + kRestAfterLook * (end - begin);
  if (damage.empty()) {
    s.session.accept();
    return std::nullopt;
  }
  s.valid = false;
  return damage.describe();
}

void RuleWriter::remove_leads(const std::function<bool(Table, const std::string& chain)>& keep) {
  State& s = *state_;
  s.session.reset_counters();
  s.valid = false;
  ipvs::remove_leads(s.session, keep);
}

void RuleWriter::remove_all(const std::function<bool(Table, const std::string& chain)>& keep) {
  State& s = *state_;
  s.session.reset_counters();
  s.valid = false;
  s.written = {};
  remove_rules(s.session, s.family, keep);
}

RuleLook RuleWriter::read() { return read_rules(state_->session); }

std::size_t RuleWriter::rules() const noexcept {
  std::size_t count = state_->written.jumps.size();
  for (const RuleChain& chain : state_->written.chains) count += chain.rules.size();
  return count;
}

const netfilter::KernelSession& RuleWriter::session() const noexcept { return state_->session; }

}  // namespace sluice::ipvs
