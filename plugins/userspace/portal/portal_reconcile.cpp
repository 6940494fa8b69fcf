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

// For each removal iptables compares all rules of the chain: with more removals it is cheaper to rewrite the chain.
constexpr std::size_t kFewRemovals = 50;

const std::vector<netfilter::Rule>& rules_of(const PortalListing& listing, std::size_t chain) {
  const netfilter::Chain* found = listing.chain(chain);
  return found == nullptr ? kNoRules : found->rules;
}

PortalId id_of(const netfilter::Rule& rule) {
  const PortalRuleText read = read_portal_rule(rule.text);
  return {parse_listener_comment(read.comment).name,
          read.protocol == "udp" ? abi::Protocol::kUdp : abi::Protocol::kTcp};
}

class Reconciliation {
 public:
  Reconciliation(netfilter::KernelSession& session, netfilter::Submitter& submitter, const WantedPortals& wanted)
      : submitter_(submitter),
        wanted_(wanted),
        listing_(list_portals(session)),
        batch_(session.kernel().tools().variant == netfilter::Variant::kNft ? netfilter::kNftBatch
                                                                            : netfilter::kOneBatch) {
    session.accept();
    for (const PortalJump& jump : find_jumps(listing_).ours)
      has_redirects_ = has_redirects_ || jump.table == Table::kNat;
  }

  bool run() {
    compare_chains();
    for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
      if (listing_.chain(i) == nullptr) input_.declare(kPortalChains[i].table, kPortalChains[i].name);
    }
    for (const auto& [id, portal] : wanted_.portals) write_portal(id, portal);
    rewrite_chains();
    write_jumps();
    remove_leftovers();
    send();
    input_ = std::exchange(final_input_, {});
    send();
    return clean_;
  }

 private:
  struct Missing {
    std::size_t chain;
    std::size_t from;  // all rules from this index on
  };

  void compare_chains() {
    for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
      PresentRules present(rules_of(listing_, i));
      for (const auto& [id, portal] : wanted_.portals) {
        const std::size_t kept = present.match(hashes_of(portal[i]));
        if (kept != portal[i].size()) missing_[id].push_back({i, kept});
      }
      rewritten_[i] = present.unmatched() > kFewRemovals;
      if (rewritten_[i]) continue;
      present.each_unmatched([&](const netfilter::Rule& rule) { unwanted_[id_of(rule)].emplace_back(i, &rule.text); });
    }
  }

  // While no rule redirects to the proxy yet, another backend may serve: write drop rules only after the redirects.
  bool is_final(Table table, std::string_view chain) const {
    return !has_redirects_ && table == Table::kFilter && chain == kPortalsFirewall;
  }
  RestoreInput& input_for(Table table, std::string_view chain) {
    return is_final(table, chain) ? final_input_ : input_;
  }
  void set_owner(std::string_view owner) {
    input_.set_owner(owner);
    final_input_.set_owner(owner);
  }

  // Old rules that drop or reject go last: only then all redirects are there that replace them.
  RestoreInput& removals_for(std::size_t chain) {
    return kPortalChains[chain].name == kPortalsFirewall ? final_input_ : input_;
  }

  // Removed and added rules of table nat are in one COMMIT, so that no packet finds neither.
  void write_portal(const PortalId& id, const WantedPortal& portal) {
    set_owner(id.first);
    if (const auto unwanted = unwanted_.find(id); unwanted != unwanted_.end()) {
      for (const auto& [chain, text] : unwanted->second) {
        removals_for(chain).remove(kPortalChains[chain].table, kPortalChains[chain].name, *text);
      }
      unwanted_.erase(unwanted);
    }
    if (const auto missing = missing_.find(id); missing != missing_.end()) {
      for (const Missing& part : missing->second) {
        RestoreInput& input = input_for(kPortalChains[part.chain].table, kPortalChains[part.chain].name);
        const bool is_early = &input != &removals_for(part.chain);
        if (!rewritten_[part.chain] || is_early) append(input, part.chain, portal[part.chain], part.from);
      }
    }
    set_owner({});
    if (input_.lines() >= batch_) send();
  }

  static void append(RestoreInput& input, std::size_t chain, const std::vector<netfilter::Rule>& rules,
                     std::size_t from) {
    for (std::size_t i = from; i < rules.size(); ++i) {
      input.append(kPortalChains[chain].table, kPortalChains[chain].name, rules[i].text);
    }
  }

  void rewrite_chains() {
    for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
      if (!rewritten_[i]) continue;
      RestoreInput& input = removals_for(i);
      input.declare(kPortalChains[i].table, kPortalChains[i].name);
      for (const auto& [id, portal] : wanted_.portals) {
        set_owner(id.first);
        append(input, i, portal[i], 0);
      }
      set_owner({});
    }
  }

  // Jumps come last: for each added rule nf_tables validates all chains that can be reached from the built-in ones.
  void write_jumps() {
    const PortalJumps jumps = find_jumps(listing_);
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
    final_input_.set_leftovers();
    for (const auto& [id, rules] : unwanted_) {
      for (const auto& [chain, text] : rules) {
        removals_for(chain).remove(kPortalChains[chain].table, kPortalChains[chain].name, *text);
      }
    }
  }

  void send() { clean_ = submitter_.send(std::exchange(input_, {})) && clean_; }

  netfilter::Submitter& submitter_;
  const WantedPortals& wanted_;
  PortalListing listing_;
  const std::size_t batch_;
  std::map<PortalId, std::vector<Missing>> missing_;
  std::map<PortalId, std::vector<std::pair<std::size_t, const std::string*>>> unwanted_;
  std::array<bool, kPortalChains.size()> rewritten_{};
  RestoreInput input_;
  RestoreInput final_input_;    // written after all others
  bool has_redirects_ = false;  // rules redirect to the proxy already
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
  std::map<std::pair<Table, std::string>, std::size_t> behind;  // position after the last prepended jump
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

}  // namespace sluice::userspace
