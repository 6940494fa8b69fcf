// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Rules of portals, decoded: from iptables-save while it prints them, or one by one. The text of no rule is kept but of
// the first ones that are not understood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/common/netfilter/rule_reader.hpp"
#include "plugins/common/netfilter/save_reader.hpp"
#include "plugins/userspace/portal/portal_plan.hpp"

namespace sluice::userspace {

using inspection::Place;

// Rules of one chain that lead the same clients to the same face.
struct SeenLead {
  FaceName face;  // as the comment has it
  std::uint16_t proxy_port = 0;
  std::optional<abi::Prefix> source;
  std::string interface;  // of arrival
  // External IPs have a rule for each way; without a condition both are covered.
  bool to_others = false;  // addresses that are not of this node
  bool to_node = false;    // addresses of this node
};

struct SeenPortal {
  std::vector<SeenLead> arriving;   // from KUBE-PORTALS-CONTAINER or KUBE-NODEPORT-CONTAINER
  std::vector<SeenLead> sent;       // by processes of this node
  std::string drops_without_local;  // service port whose clients are dropped for want of local endpoints
  std::string drops_others;         // service port whose clients outside of the source ranges are dropped
  bool passes_node = false;         // processes of this node are not dropped
};

class SeenPortals final : public netfilter::SaveReader {
 public:
  explicit SeenPortals(abi::Family family) : reader_(family), family_(family) {}

  // A single rule, as PortalWriter has it.
  void add(netfilter::Table table, std::string_view chain, std::string_view rule);

  std::map<Place, SeenPortal> places;

  // Which addresses the chain of node ports is reached for.
  struct NodePorts {
    bool everywhere = false;
    std::vector<abi::Address> addresses;
  };
  NodePorts arriving;
  NodePorts sent;

  bool has_jump(netfilter::Table table, std::string_view from, std::string_view to) const;

  using Port = std::pair<abi::Protocol, std::uint16_t>;
  std::set<Port> guarded;                // proxy ports that only redirected packets reach
  std::map<Port, std::string> accepted;  // by KUBE-NODEPORT-NON-LOCAL; the service port in the comment

  static constexpr std::size_t kMostUnknown = 1000;
  std::vector<std::string> unknown;  // "nat -A KUBE-PORTALS-HOST …"
  std::size_t more_unknown = 0;

 private:
  using Fields = netfilter::RuleFields;
  // Returns whether the rule is understood.
  using Decode = bool (SeenPortals::*)(const Fields&);

  void on_table(std::string_view name) override;
  void on_chain(std::string_view, bool) override {}
  void on_rule(std::string_view chain, std::string_view rule) override;

  Decode decoder_of(std::string_view chain) const;
  bool read_jump(const Fields& rule);
  bool read_lead(const Fields& rule);
  bool read_accept(const Fields& rule);
  bool read_firewall(const Fields& rule);

  netfilter::RuleReader reader_;
  const abi::Family family_;
  std::optional<netfilter::Table> table_;  // empty: none that matters
  std::string chain_;                      // of the rule that is read
  std::vector<std::string> jumps_;         // "nat OUTPUT KUBE-PORTALS-HOST"
};

}  // namespace sluice::userspace
