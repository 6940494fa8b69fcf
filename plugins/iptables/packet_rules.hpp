// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which rules of iptables-save match the first packet of a connection. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/inspection/rows.hpp"
#include "plugins/common/netfilter/local_match.hpp"
#include "plugins/common/netfilter/rule_reader.hpp"
#include "plugins/common/netfilter/save_reader.hpp"
#include "plugins/iptables/names.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::iptables {

// kMaybe: the rule has a condition that is not known for this packet.
enum class Matches : std::uint8_t { kNo, kMaybe, kYes };

// The packet at a point of its way.
struct TracedPacket {
  explicit TracedPacket(const inspection::Packet& sent)
      : packet(sent), destinations{{sent.address, sent.port}} {}

  inspection::Packet packet;  // as sent
  std::vector<netfilter::HostPort> destinations;  // one; after a translation, all that may be chosen
  bool translated = false;
  bool marked = false;  // to be masqueraded
};

// The facts about the node that conditions depend on.
struct MatchFacts {
  std::uint32_t mark = 0;  // of packets to be masqueraded
  netfilter::LocalMatch local;
  std::set<abi::Address> addresses{};  // of this node

  bool is_local(const abi::Address& address, abi::Family family) const;
};

Matches match(const netfilter::RuleFields& rule, const TracedPacket& packet, const MatchFacts& facts);

// Keeps the rules of tables nat and filter that may match the packet, in chains that the backend owns; in other chains
// all rules, because the packet may be changed before it reaches them. 100,000 endpoints take about 40 MB.
class PacketRules final : public netfilter::SaveReader {
 public:
  // Both outlive this object.
  PacketRules(const TracedPacket& packet, const MatchFacts& facts)
      : packet_(packet), facts_(facts), reader_(packet.packet.family) {}

  struct Rule {
    std::string text;
    std::optional<netfilter::Counts> counts;
  };
  struct Chain {
    bool drops = false;                       // policy of a built-in chain
    std::optional<netfilter::Counts> counts;  // of the policy
    std::size_t count = 0;                    // of rules, kept or not
    std::vector<Rule> rules;
  };
  // Null if there is none.
  const Chain* find(Table table, std::string_view name) const;

 private:
  void on_table(std::string_view name) override;
  void on_chain(std::string_view name, bool built_in) override;
  void on_rule(std::string_view chain, std::string_view rule) override;
  Chain& enter(std::string_view name);

  const TracedPacket& packet_;
  const MatchFacts& facts_;
  netfilter::RuleReader reader_;
  std::map<std::string, Chain, std::less<>> tables_[2];  // by name of chain
  std::optional<Table> table_;                           // empty: a table that is not kept
  std::string chain_name_;
  Chain* chain_ = nullptr;
  bool early_ = false;  // the packet meets the rules of this chain as it was sent
};

}  // namespace sluice::iptables
