// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/portal_writer.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/userspace/portal/portal_order.hpp"
#include "plugins/userspace/portal/portal_state.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::userspace {
namespace {

using netfilter::RestoreInput;

// A look that took t is not repeated before 20 t: at most a twentieth of one processor,
// however often others change their rules.
constexpr std::uint64_t kRestAfterLook = 20;

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

  // Until nothing more is refused. Each round leaves out at least one service port more.
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
    next_look = 0;
    rules = wanted.jumps.size();
    for (const auto& [id, portal] : wanted.portals) rules += count_rules(portal);
    return finish(std::move(written));
  }

  Written finish(Written written) const {
    written.lines = session.lines();
    written.rules = rules;
    return written;
  }

  // From what was written last to `after`, by single lines. Those that go and those that come are in one COMMIT.
  void write_change(const std::string& name, const WantedPortal& before, const WantedPortal& after,
                    RestoreInput& input) {
    rules += count_rules(after);
    rules -= count_rules(before);
    input.set_owner(name);
    for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
      PresentRules present(before[i]);
      const std::size_t kept = present.take(hashes_of(after[i]));
      const netfilter::Table table = kPortalChains[i].table;
      const char* chain = kPortalChains[i].name;
      present.each_left([&](const netfilter::Rule& rule) { input.remove(table, chain, rule.text); });
      for (std::size_t next = kept; next < after[i].size(); ++next) input.append(table, chain, after[i][next].text);
    }
  }

  netfilter::KernelSession session;
  const Now now;
  netfilter::Canonicaliser canonicaliser;
  WantedPortals wanted;
  std::size_t rules = 0;  // of `wanted`
  bool valid = false;     // the kernel holds `wanted`, as far as it depends on us
  std::uint64_t next_look = 0;
};

PortalWriter::PortalWriter(netfilter::Kernel& kernel, abi::Family, Now now)
    : state_(std::make_unique<State>(kernel, std::move(now))) {}
PortalWriter::~PortalWriter() = default;

const netfilter::KernelSession& PortalWriter::session() const noexcept { return state_->session; }

std::map<PortalId, ProxyPorts> PortalWriter::adopt() {
  std::map<PortalId, ProxyPorts> found;
  const PortalLook look = look_at_portals(state_->session);
  for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
    const netfilter::Chain* chain = look.chain(i);
    if (chain == nullptr || kPortalChains[i].table != netfilter::Table::kNat) continue;
    for (const netfilter::Rule& rule : chain->rules) {
      const PortalRuleText read = read_portal_rule(rule.text);
      if (read.proxy_port == 0 || (read.protocol != "tcp" && read.protocol != "udp")) continue;
      const FaceName face = parse_face_comment(read.comment);
      if (face.name.find('/') == std::string::npos) continue;
      ProxyPorts& ports = found[{face.name, read.protocol == "udp" ? abi::Protocol::kUdp : abi::Protocol::kTcp}];
      std::uint16_t& port = face.local ? ports.local : ports.cluster;
      if (port == 0) port = read.proxy_port;
    }
  }
  return found;
}

void PortalWriter::read(netfilter::SaveReader& reader) { state_->session.read(reader); }

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
    // Who is to blame, or whether somebody else has been here, shows a look at the kernel.
    if (s.session.try_send(input)) return s.reconcile();
  }
  s.valid = true;
  return s.finish({});
}

std::optional<std::string> PortalWriter::find_damage() {
  State& s = *state_;
  if (!s.valid) return "nothing is in place yet";
  const std::uint64_t begin = s.now();
  if (begin < s.next_look) return std::nullopt;
  if (s.session.kernel().tools().variant == netfilter::Variant::kNft && s.session.untouched()) return std::nullopt;
  const netfilter::Damage damage = compare(s.wanted, look_at_portals(s.session));
  const std::uint64_t end = s.now();
  s.next_look = end + kRestAfterLook * (end - begin);
  if (damage.empty()) {
    s.session.accept();
    return std::nullopt;
  }
  s.valid = false;
  return damage.describe();
}

void PortalWriter::remove(Part part, const std::function<bool(netfilter::Table, const std::string& chain)>& keep) {
  State& s = *state_;
  s.session.reset_counters();
  s.valid = false;
  s.wanted = {};
  const PortalLook look = look_at_portals(s.session);
  RestoreInput input;
  const auto goes = [&](std::size_t i) {
    return look.chain(i) != nullptr && !keep(kPortalChains[i].table, kPortalChains[i].name) &&
           (part != Part::kLeads || kPortalChains[i].table == netfilter::Table::kNat);
  };
  if (part == Part::kDrops) {
    const std::size_t firewall = *find_portal_chain("filter", kPortalsFirewall);
    if (!goes(firewall)) return;
    const std::vector<netfilter::Rule>& rules = look.chain(firewall)->rules;
    const auto stays = [](const netfilter::Rule& rule) { return guards_proxy_port(rule.text); };
    if (std::all_of(rules.begin(), rules.end(), stays)) return;
    input.declare(netfilter::Table::kFilter, kPortalsFirewall);
    for (const netfilter::Rule& rule : rules) {
      if (stays(rule)) input.append(netfilter::Table::kFilter, kPortalsFirewall, rule.text);
    }
    s.session.send(input);
    return;
  }
  const PortalJumps jumps = find_jumps(look);
  for (const PortalJump& jump : jumps.ours) {
    if (goes(jump.to)) input.remove(jump.table, jump.from, jump.rule.text);
  }
  for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
    if (!goes(i)) continue;
    input.declare(kPortalChains[i].table, kPortalChains[i].name);  // emptied: the kernel keeps a chain that has rules
    if (look.held.contains(i) || jumps.foreign.contains(i)) continue;
    input.remove_chain(kPortalChains[i].table, kPortalChains[i].name);
  }
  s.session.send(input);
}

}  // namespace sluice::userspace
