// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/rules/rule_writer.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/drift.hpp"
#include "plugins/ipvs/rules/rule_cleanup.hpp"
#include "plugins/ipvs/rules/rule_drift.hpp"
#include "plugins/ipvs/rules/rule_listing.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace {

using netfilter::RestoreInput;
using netfilter::Table;

// After a scan of duration t the next one waits 20 t: at most a twentieth of one CPU, however often foreign rules
// change.
constexpr std::uint64_t kRulesRestFactor = 20;

// For each removal iptables compares the whole chain: above this number it is cheaper to write the chain again.
constexpr std::size_t kFewRemovals = 50;

void write_difference(const RuleChain& chain, const RuleDifference& changed, RestoreInput& input) {
  if (changed.to_remove.size() > kFewRemovals) {
    netfilter::write(chain, input);
    return;
  }
  for (const std::string* rule : changed.to_remove) input.remove(chain.table, chain.name, *rule);
  for (const std::string* rule : changed.to_add) input.append(chain.table, chain.name, *rule);
}

// Explains a rejected rule, naming the set or module it needs.
sdk::Failure explained(const netfilter::Refusal& refusal) {
  const std::string why = netfilter::sentence(refusal);
  const std::string& line = refusal.line ? refusal.line->text : why;
  constexpr std::string_view kMatchSet = "--match-set ";
  if (const std::size_t at = line.find(kMatchSet); at != std::string::npos) {
    const std::size_t begin = at + kMatchSet.size();
    const std::string set = line.substr(begin, line.find(' ', begin) - begin);
    return {refusal.why.code(), set,
            "write rules: they need the set " + set +
                " (created before; another process may have destroyed it) and the kernel module xt_set: " + why};
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

  // Table filter, or filter and nat. Tables are committed in order, filter first (RestoreInput), so that source
  // ranges apply before IPVS and table nat accept packets. Addresses are bound after all rules. Packets of an
  // iptables mode that is being replaced have a translated destination in table filter and do not match.
  RestoreInput input_for(const RulePlan& plan, const RuleListing& listing, bool with_nat) {
    RestoreInput input;
    for (const RuleChain& chain : plan.chains) {
      if (chain.table == Table::kNat && !with_nat && chain.name != kHandoverChain) continue;
      if (is_unordered(chain)) {
        if (listing.chain(chain.table, chain.name) == nullptr) {
          netfilter::write(chain, input);
        } else {
          write_difference(chain, difference(rules_of(listing, chain), chain.rules, canonicaliser), input);
        }
      } else if (!netfilter::holds(listing.rules, chain.table, chain.name,
                                   netfilter::content_of(chain.rules, canonicaliser))) {
        netfilter::write(chain, input);
      }
    }
    for (const RuleJump& jump : plan.jumps) {
      if (jump.table == Table::kNat && !with_nat && !jump.rule.ends_with(kHandoverChain)) continue;
      if (netfilter::contains(listing.rules, jump.table, jump.from, jump.rule, canonicaliser)) continue;
      input.insert(jump.table, jump.from, jump.rule);
    }
    return input;
  }

  bool write_full(const RulePlan& plan, Wait wait) {
    valid = false;
    const RuleListing listing = list_rules(session);
    session.accept();
    const bool waits = wait == Wait::kAlways || (wait == Wait::kForIptables && listing.served_by_iptables);
    send(input_for(plan, listing, !waits));
    if (waits) return true;
    written = plan;
    valid = true;
    next_scan = 0;
    return false;
  }

  // Compared with the last write, not with the kernel.
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

  // As changes_to(), but the cost does not depend on the number of other rules.
  RestoreInput close(const std::vector<ServerKey>& to_add, const std::vector<ServerKey>& to_remove) {
    RuleChain& chain = *std::find_if(written.chains.begin(), written.chains.end(), is_unordered);
    std::set<std::string> new_rules, old_rules;
    for (const ServerKey& key : to_add) new_rules.insert(out_filter_rule(key, family));
    for (const ServerKey& key : to_remove) old_rules.insert(out_filter_rule(key, family));
    RuleDifference changed;
    for (const std::string& rule : new_rules) changed.to_add.push_back(&rule);
    for (const std::string& rule : old_rules) changed.to_remove.push_back(&rule);
    if (!to_remove.empty())
      std::erase_if(chain.rules, [&](const std::string& rule) { return old_rules.contains(rule); });
    chain.rules.insert(chain.rules.end(), new_rules.begin(), new_rules.end());
    RestoreInput input;
    write_difference(chain, changed, input);
    return input;
  }

  void send_change(const RestoreInput& input, const RulePlan& plan) {
    valid = false;
    // Another process may have removed the rule that was rejected: read the kernel.
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

  netfilter::Drift compare(const RuleListing& listing) {
    netfilter::Drift drift;
    for (const RuleJump& jump : written.jumps) {
      netfilter::expect_rule(listing.rules, jump.table, jump.from, jump.rule, canonicaliser, drift);
    }
    for (const RuleChain& chain : written.chains) {
      if (holds_chain(listing, chain, canonicaliser)) continue;
      const bool gone = listing.chain(chain.table, chain.name) == nullptr;
      drift.add([&] { return netfilter::in_table(chain.table, chain.name) + (gone ? " is gone" : " was changed"); });
    }
    return drift;
  }

  netfilter::KernelSession session;
  const abi::Family family;
  const Now now;
  netfilter::Canonicaliser canonicaliser;
  RulePlan written;
  bool valid = false;  // the kernel holds `written`, except for foreign changes
  std::uint64_t next_scan = 0;
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

std::optional<std::string> RuleWriter::find_drift() {
  State& s = *state_;
  if (!s.valid) return "the rules are not in place yet";
  const std::uint64_t begin = s.now();
  if (begin < s.next_scan) return std::nullopt;
  if (s.session.kernel().tools().variant == netfilter::Variant::kNft && s.session.untouched()) return std::nullopt;
  const netfilter::Drift drift = s.compare(list_rules(s.session));
  const std::uint64_t end = s.now();
  s.next_scan = end + kRulesRestFactor * (end - begin);
  if (drift.empty()) {
    s.session.accept();
    return std::nullopt;
  }
  s.valid = false;
  return drift.describe();
}

void RuleWriter::remove_nat_jumps(const std::function<bool(Table, const std::string& chain)>& keep) {
  State& s = *state_;
  s.session.reset_counters();
  s.valid = false;
  ipvs::remove_nat_jumps(s.session, keep);
}

void RuleWriter::remove_all(const std::function<bool(Table, const std::string& chain)>& keep) {
  State& s = *state_;
  s.session.reset_counters();
  s.valid = false;
  s.written = {};
  remove_rules(s.session, s.family, keep);
}

RuleListing RuleWriter::read() { return read_rules(state_->session); }

void RuleWriter::list_drift(const OnRuleDrift& on_drift) { list_rule_drift(read(), state_->written, on_drift); }

std::size_t RuleWriter::rules() const noexcept {
  std::size_t count = state_->written.jumps.size();
  for (const RuleChain& chain : state_->written.chains) count += chain.rules.size();
  return count;
}

const netfilter::KernelSession& RuleWriter::session() const noexcept { return state_->session; }

}  // namespace sluice::ipvs
