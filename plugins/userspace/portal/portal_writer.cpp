// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/portal_writer.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/userspace/portal/portal_drift.hpp"
#include "plugins/userspace/portal/portal_order.hpp"
#include "plugins/userspace/portal/portal_state.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::userspace {
namespace {

using netfilter::RestoreInput;

// A check that took t is not repeated before 20 t, so that checks take at most a twentieth of one processor however
// often other programs change their rules.
constexpr std::uint64_t kPauseAfterCheck = 20;

std::size_t index_of(const PortalRule& rule) {
  const auto index = find_portal_chain(netfilter::table_name(rule.table), rule.chain);
  if (!index) throw std::logic_error("no chain of portals: " + rule.chain);
  return *index;
}

}  // namespace

struct PortalWriter::State {
  State(netfilter::Kernel& kernel, Now clock) : session(kernel), now(std::move(clock)) {}

  WantedPortal wanted_of(const Portal& portal) {
    WantedPortal made;
    for (const PortalRule& rule : portal.rules) {
      made[index_of(rule)].push_back({canonicaliser.hash(rule.rule), rule.rule});
    }
    return made;
  }

  // Repeats until the kernel refuses nothing. Each round excludes at least one more service port.
  Written reconcile() {
    valid = false;
    Written written;
    netfilter::Submitter submitter(session, now);
    for (bool again = true; again;) {
      try {
        again = !reconcile_once(session, submitter, wanted);
      } catch (const sdk::Failure&) {
        if (!submitter.starts_over()) throw;
      }
      for (const auto& [name, why] : submitter.refused()) {
        if (!written.refused.emplace(name, why).second) continue;
        wanted.portals.erase({name, abi::Protocol::kTcp});
        wanted.portals.erase({name, abi::Protocol::kUdp});
      }
    }
    valid = true;
    next_check = 0;
    rules = wanted.jumps.size();
    for (const auto& [id, portal] : wanted.portals) rules += count_rules(portal);
    return finish(std::move(written));
  }

  Written finish(Written written) const {
    written.lines = session.lines();
    written.rules = rules;
    return written;
  }

  // Writes the difference to the previous rules, line by line. Removed and added rules are in one COMMIT.
  void write_change(const std::string& name, const WantedPortal& before, const WantedPortal& after,
                    RestoreInput& input) {
    rules += count_rules(after);
    rules -= count_rules(before);
    input.set_owner(name);
    for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
      PresentRules present(before[i]);
      const std::size_t kept = present.match(hashes_of(after[i]));
      const netfilter::Table table = kPortalChains[i].table;
      const std::string_view chain = kPortalChains[i].name;
      present.each_unmatched([&](const netfilter::Rule& rule) { input.remove(table, chain, rule.text); });
      for (std::size_t next = kept; next < after[i].size(); ++next) input.append(table, chain, after[i][next].text);
    }
  }

  netfilter::KernelSession session;
  const Now now;
  netfilter::Canonicaliser canonicaliser;
  WantedPortals wanted;
  std::size_t rules = 0;  // of `wanted`
  bool valid = false;     // `wanted` was written completely
  std::uint64_t next_check = 0;
};

PortalWriter::PortalWriter(netfilter::Kernel& kernel, abi::Family, Now now)
    : state_(std::make_unique<State>(kernel, std::move(now))) {}
PortalWriter::~PortalWriter() = default;

const netfilter::KernelSession& PortalWriter::session() const noexcept { return state_->session; }

std::map<PortalId, ProxyPorts> PortalWriter::read_proxy_ports() {
  std::map<PortalId, ProxyPorts> found;
  const PortalListing listing = list_portals(state_->session);
  for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
    const netfilter::Chain* chain = listing.chain(i);
    if (chain == nullptr || kPortalChains[i].table != netfilter::Table::kNat) continue;
    for (const netfilter::Rule& rule : chain->rules) {
      const PortalRuleText read = read_portal_rule(rule.text);
      if (read.proxy_port == 0 || (read.protocol != "tcp" && read.protocol != "udp")) continue;
      const ListenerName listener = parse_listener_comment(read.comment);
      if (listener.name.find('/') == std::string::npos) continue;
      ProxyPorts& ports = found[{listener.name, read.protocol == "udp" ? abi::Protocol::kUdp : abi::Protocol::kTcp}];
      std::uint16_t& port = listener.local ? ports.local : ports.cluster;
      if (port == 0) port = read.proxy_port;
    }
  }
  return found;
}

void PortalWriter::read(netfilter::SaveReader& reader) { state_->session.read(reader); }

PortalListing PortalWriter::read_rules() { return read_portals(state_->session); }

PortalListing PortalWriter::written_rules() const {
  PortalListing listing;
  const auto rules_of = [&](netfilter::Table table, std::string_view chain) -> std::vector<netfilter::Rule>& {
    return listing.rules.make_table(netfilter::table_name(table))[std::string(chain)].rules;
  };
  for (const WantedJump& jump : state_->wanted.jumps) {
    std::vector<netfilter::Rule>& rules = rules_of(jump.table, jump.from);
    rules.insert(jump.first ? rules.begin() : rules.end(), jump.rule);
  }
  for (const auto& [id, portal] : state_->wanted.portals) {
    for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
      std::vector<netfilter::Rule>& rules = rules_of(kPortalChains[i].table, kPortalChains[i].name);
      rules.insert(rules.end(), portal[i].begin(), portal[i].end());
    }
  }
  return listing;
}

void PortalWriter::each_written(
    const std::function<void(netfilter::Table, std::string_view chain, std::string_view rule)>& visit) const {
  for (const auto& [id, portal] : state_->wanted.portals) {
    for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
      for (const netfilter::Rule& rule : portal[i]) visit(kPortalChains[i].table, kPortalChains[i].name, rule.text);
    }
  }
}

PortalWriter::Written PortalWriter::write_full(const std::vector<FixedRule>& fixed,
                                               const std::vector<Portal>& portals) {
  State& s = *state_;
  s.session.reset_counters();
  s.valid = false;
  s.wanted = {};
  for (const FixedRule& jump : fixed) {
    s.wanted.jumps.push_back(
        {jump.rule.table, jump.rule.chain, {s.canonicaliser.hash(jump.rule.rule), jump.rule.rule}, jump.first});
  }
  for (const Portal& portal : portals) s.wanted.portals[{portal.name, portal.protocol}] = s.wanted_of(portal);
  return s.reconcile();
}

PortalWriter::Written PortalWriter::write_delta(const std::vector<Portal>& changed,
                                                const std::vector<PortalId>& removed) {
  State& s = *state_;
  if (!s.valid) throw sdk::Failure(abi::Code::kNeedFull, {}, "a delta of portals needs a full transaction before it");
  s.session.reset_counters();
  s.valid = false;
  const std::size_t batch =
      s.session.kernel().tools().variant == netfilter::Variant::kNft ? netfilter::kNftBatch : netfilter::kOneBatch;
  std::vector<RestoreInput> inputs(1);
  const auto change = [&](const PortalId& id, const WantedPortal& after) {
    WantedPortal& before = s.wanted.portals[id];
    s.write_change(id.first, before, after, inputs.back());
    before = after;
    if (inputs.back().lines() >= batch) inputs.emplace_back();
  };
  for (const PortalId& id : removed) {
    change(id, {});
    s.wanted.portals.erase(id);
  }
  for (const Portal& portal : changed) change({portal.name, portal.protocol}, s.wanted_of(portal));
  for (const RestoreInput& input : inputs) {
    // Reading the kernel back shows which service port is refused, or what another program changed.
    if (s.session.try_send(input)) return s.reconcile();
  }
  s.valid = true;
  return s.finish({});
}

std::optional<std::string> PortalWriter::find_drift() {
  State& s = *state_;
  if (!s.valid) return "no rules have been written yet";
  const std::uint64_t begin = s.now();
  if (begin < s.next_check) return std::nullopt;
  if (s.session.kernel().tools().variant == netfilter::Variant::kNft && s.session.untouched()) return std::nullopt;
  auto drift = describe_drift(s.wanted, list_portals(s.session));
  const std::uint64_t end = s.now();
  s.next_check = end + kPauseAfterCheck * (end - begin);
  if (drift) {
    s.valid = false;
  } else {
    s.session.accept();
  }
  return drift;
}

void PortalWriter::each_difference(const std::function<void(const PortalDifference&)>& visit) {
  userspace::each_difference(state_->wanted, read_portals(state_->session), visit);
}

void PortalWriter::remove(Part part, const std::function<bool(netfilter::Table, const std::string& chain)>& keep) {
  State& s = *state_;
  s.session.reset_counters();
  s.valid = false;
  s.wanted = {};
  const PortalListing listing = list_portals(s.session);
  RestoreInput input;
  const auto is_removed = [&](std::size_t i) {
    return listing.chain(i) != nullptr && !keep(kPortalChains[i].table, std::string(kPortalChains[i].name)) &&
           (part != Part::kRedirects || kPortalChains[i].table == netfilter::Table::kNat);
  };
  if (part == Part::kDrops) {
    const std::size_t firewall = *find_portal_chain("filter", kPortalsFirewall);
    if (!is_removed(firewall)) return;
    const std::vector<netfilter::Rule>& rules = listing.chain(firewall)->rules;
    const auto is_kept = [](const netfilter::Rule& rule) { return guards_proxy_port(rule.text); };
    if (std::all_of(rules.begin(), rules.end(), is_kept)) return;
    input.declare(netfilter::Table::kFilter, kPortalsFirewall);
    for (const netfilter::Rule& rule : rules) {
      if (is_kept(rule)) input.append(netfilter::Table::kFilter, kPortalsFirewall, rule.text);
    }
    s.session.send(input);
    return;
  }
  const PortalJumps jumps = find_jumps(listing);
  for (const PortalJump& jump : jumps.ours) {
    if (is_removed(jump.to)) input.remove(jump.table, jump.from, jump.rule.text);
  }
  for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
    if (!is_removed(i)) continue;
    input.declare(kPortalChains[i].table,
                  kPortalChains[i].name);  // flush: the kernel does not delete a chain with rules
    const bool is_target = std::any_of(jumps.foreign.begin(), jumps.foreign.end(),
                                       [&](const PortalJump& jump) { return jump.to == i; });
    if (is_target || listing.foreign_references.contains(i)) continue;
    input.remove_chain(kPortalChains[i].table, kPortalChains[i].name);
  }
  s.session.send(input);
}

}  // namespace sluice::userspace
