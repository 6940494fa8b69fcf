// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/userspace/portal/portal_order.hpp"
#include "plugins/userspace/portal/portal_state.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::userspace {
namespace {

using netfilter::RestoreInput;
using netfilter::Table;

const std::vector<netfilter::Rule> kNoRules;

// Each removal makes iptables compare its way through the chain: from here on it is
// cheaper to write the chain again.
constexpr std::size_t kFewRemovals = 50;

std::string place(Table table, std::string_view chain) {
  return std::string(netfilter::table_name(table)).append(" ").append(chain);
}

const std::vector<netfilter::Rule>& rules_of(const PortalLook& look, std::size_t chain) {
  const netfilter::Chain* found = look.chain(chain);
  return found == nullptr ? kNoRules : found->rules;
}

PortalId id_of(const netfilter::Rule& rule) {
  const PortalRuleText read = read_portal_rule(rule.text);
  return {parse_face_comment(read.comment).name, read.protocol == "udp" ? abi::Protocol::kUdp : abi::Protocol::kTcp};
}

class Reconciliation {
 public:
  Reconciliation(netfilter::KernelSession& session, netfilter::Submitter& submitter, const WantedPortals& wanted)
      : submitter_(submitter),
        wanted_(wanted),
        look_(look_at_portals(session)),
        batch_(session.kernel().tools().variant == netfilter::Variant::kNft ? netfilter::kNftBatch
                                                                            : netfilter::kOneBatch) {
    session.accept();
    for (const PortalJump& jump : find_jumps(look_).ours) leads_ = leads_ || jump.table == Table::kNat;
  }

  bool run() {
    compare_chains();
    for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
      if (look_.chain(i) == nullptr) input_.declare(kPortalChains[i].table, kPortalChains[i].name);
    }
    for (const auto& [id, portal] : wanted_.portals) write_portal(id, portal);
    write_chains_anew();
    write_jumps();
    remove_leftovers();
    send();
    input_ = std::exchange(late_, {});
    send();
    return clean_;
  }

 private:
  struct Missing {
    std::size_t chain;
    std::size_t from;  // all rules from this one on
  };

  void compare_chains() {
    for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
      PresentRules present(rules_of(look_, i));
      for (const auto& [id, portal] : wanted_.portals) {
        const std::size_t kept = present.take(hashes_of(portal[i]));
        if (kept != portal[i].size()) missing_[id].push_back({i, kept});
      }
      anew_[i] = present.left() > kFewRemovals;
      if (anew_[i]) continue;
      present.each_left([&](const netfilter::Rule& rule) { left_[id_of(rule)].emplace_back(i, &rule.text); });
    }
  }

  // Where nothing leads to the proxy yet, another backend may: what this one would drop because it was not led there is
  // dropped only afterwards.
  bool is_late(Table table, const char* chain) const {
    return !leads_ && table == Table::kFilter && std::string_view(chain) == kPortalsFirewall;
  }
  RestoreInput& input_for(Table table, const char* chain) { return is_late(table, chain) ? late_ : input_; }
  void set_owner(std::string_view owner) {
    input_.set_owner(owner);
    late_.set_owner(owner);
  }

  // What goes and what comes is in one input, so that it is in one COMMIT: no packet meets neither.
  void write_portal(const PortalId& id, const WantedPortal& portal) {
    set_owner(id.first);
    if (const auto left = left_.find(id); left != left_.end()) {
      for (const auto& [chain, text] : left->second) {
        input_.remove(kPortalChains[chain].table, kPortalChains[chain].name, *text);
      }
      left_.erase(left);
    }
    if (const auto missing = missing_.find(id); missing != missing_.end()) {
      for (const Missing& part : missing->second) {
        if (!anew_[part.chain]) append(part.chain, portal[part.chain], part.from);
      }
    }
    set_owner({});
    if (input_.lines() >= batch_) send();
  }

  void append(std::size_t chain, const std::vector<netfilter::Rule>& rules, std::size_t from) {
    RestoreInput& input = input_for(kPortalChains[chain].table, kPortalChains[chain].name);
    for (std::size_t i = from; i < rules.size(); ++i) {
      input.append(kPortalChains[chain].table, kPortalChains[chain].name, rules[i].text);
    }
  }

  void write_chains_anew() {
    for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
      if (!anew_[i]) continue;
      input_.declare(kPortalChains[i].table, kPortalChains[i].name);
      for (const auto& [id, portal] : wanted_.portals) {
        set_owner(id.first);
        append(i, portal[i], 0);
      }
      set_owner({});
    }
  }

  // Last: with each rule it takes, nf_tables walks through everything that can be reached from the built-in chains.
  void write_jumps() {
    const PortalJumps jumps = find_jumps(look_);
    const JumpsInPlace in_place = compare_jumps(wanted_.jumps, jumps.ours);
    for (std::size_t i = 0; i < jumps.ours.size(); ++i) {
      if (!in_place.needed[i]) input_.remove(jumps.ours[i].table, jumps.ours[i].from, jumps.ours[i].rule.text);
    }
    for (std::size_t i = 0; i < wanted_.jumps.size(); ++i) {
      const WantedJump& jump = wanted_.jumps[i];
      if (in_place.wanted[i]) continue;
      if (jump.first) {
        input_.insert(jump.table, jump.from, jump.rule.text);
      } else {
        input_.append(jump.table, jump.from, jump.rule.text);
      }
    }
  }

  void remove_leftovers() {
    input_.set_leftovers();
    for (const auto& [id, rules] : left_) {
      for (const auto& [chain, text] : rules) {
        input_.remove(kPortalChains[chain].table, kPortalChains[chain].name, *text);
      }
    }
  }

  void send() { clean_ = submitter_.send(std::exchange(input_, {})) && clean_; }

  netfilter::Submitter& submitter_;
  const WantedPortals& wanted_;
  PortalLook look_;
  const std::size_t batch_;
  std::map<PortalId, std::vector<Missing>> missing_;
  std::map<PortalId, std::vector<std::pair<std::size_t, const std::string*>>> left_;
  std::array<bool, kPortalChains.size()> anew_{};
  RestoreInput input_;
  RestoreInput late_;   // after all others
  bool leads_ = false;  // something leads to the proxy already
  bool clean_ = true;
};

}  // namespace

std::size_t count_rules(const WantedPortal& portal) noexcept {
  std::size_t count = 0;
  for (const auto& rules : portal) count += rules.size();
  return count;
}

std::vector<std::uint64_t> hashes_of(const std::vector<netfilter::Rule>& rules) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(rules.size());
  for (const netfilter::Rule& rule : rules) hashes.push_back(rule.hash);
  return hashes;
}

JumpsInPlace compare_jumps(const std::vector<WantedJump>& wanted, const std::vector<PortalJump>& present) {
  JumpsInPlace found{std::vector<bool>(wanted.size(), false), std::vector<bool>(present.size(), false)};
  const auto take = [&](std::size_t i, std::size_t from) {
    for (std::size_t j = 0; j < present.size(); ++j) {
      const bool same = present[j].table == wanted[i].table && present[j].from == wanted[i].from &&
                        present[j].rule.hash == wanted[i].rule.hash;
      if (!same || found.needed[j] || present[j].position < from) continue;
      found.wanted[i] = found.needed[j] = true;
      return present[j].position + 1;
    }
    return from;
  };
  std::map<std::pair<Table, std::string>, std::size_t> behind;  // the last that is prepended
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].first) continue;
    std::size_t& end = behind[{wanted[i].table, wanted[i].from}];
    end = std::max(end, take(i, 0));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].first) take(i, behind[{wanted[i].table, wanted[i].from}]);
  }
  return found;
}

bool reconcile_once(netfilter::KernelSession& session, netfilter::Submitter& submitter, const WantedPortals& wanted) {
  return Reconciliation(session, submitter, wanted).run();
}

netfilter::Damage compare(const WantedPortals& wanted, const PortalLook& look) {
  netfilter::Damage damage;
  const PortalJumps jumps = find_jumps(look);
  const JumpsInPlace in_place = compare_jumps(wanted.jumps, jumps.ours);
  for (std::size_t i = 0; i < wanted.jumps.size(); ++i) {
    if (in_place.wanted[i]) continue;
    damage.add([&, &jump = wanted.jumps[i]] {
      return "the rule \"" + jump.rule.text + "\" in " + place(jump.table, jump.from) + " is gone";
    });
  }
  for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
    const std::string where = place(kPortalChains[i].table, kPortalChains[i].name);
    if (look.chain(i) == nullptr) {
      damage.add([&] { return where + " is gone"; });
      continue;
    }
    PresentRules present(rules_of(look, i));
    for (const auto& [id, portal] : wanted.portals) {
      const std::size_t kept = present.take(hashes_of(portal[i]));
      if (kept == portal[i].size()) continue;
      damage.add([&, &rule = portal[i][kept]] { return "the rule \"" + rule.text + "\" in " + where + " is gone"; });
    }
    present.each_left([&](const netfilter::Rule& rule) {
      damage.add([&] { return "the rule \"" + rule.text + "\" in " + where + " is not ours"; });
    });
  }
  return damage;
}

}  // namespace sluice::userspace
