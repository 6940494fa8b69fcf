// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decodes portal rules, from the output of iptables-save or one by one. Stores the text only of rules that it cannot
// decode, up to a limit.
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

// Rules of one chain that redirect the same clients to the same listener.
struct DecodedRedirect {
  ListenerName listener;  // from the comment
  std::uint16_t proxy_port = 0;
  std::optional<abi::Prefix> source;
  std::string interface;  // of arrival
};

struct DecodedPortal {
  std::vector<DecodedRedirect> arriving;  // from KUBE-PORTALS-CONTAINER or KUBE-NODEPORT-CONTAINER
  std::vector<DecodedRedirect> sent;      // from processes of this node
  std::string rejects;                    // service port whose clients are rejected, as it has no endpoints
  std::string drops_without_local;        // service port whose clients are dropped, as it has no local endpoints
  std::string drops_others;               // service port whose clients outside the source ranges are dropped
  bool passes_node = false;               // packets of processes of this node are not dropped
};

class DecodedPortals final : public netfilter::SaveReader {
 public:
  explicit DecodedPortals(abi::Family family) : reader_(family), family_(family) {}

  // Decodes a single rule, from PortalWriter.
  void add(netfilter::Table table, std::string_view chain, std::string_view rule);

  std::map<Place, DecodedPortal> places;

  // The addresses with a jump to the node port chain.
  struct NodePorts {
    bool everywhere = false;
    std::vector<abi::Address> addresses;
  };
  NodePorts arriving;
  NodePorts sent;

  bool has_jump(netfilter::Table table, std::string_view from, std::string_view to) const;

  using Port = std::pair<abi::Protocol, std::uint16_t>;
  std::set<Port> guarded;                // proxy ports that drop packets without DNAT
  std::map<Port, std::string> accepted;  // proxy ports in KUBE-NODEPORT-NON-LOCAL, and the service port in the comment

  static constexpr std::size_t kMostUnknown = 1000;
  std::vector<std::string> unknown;  // "nat -A KUBE-PORTALS-HOST …"
  std::size_t more_unknown = 0;

 private:
  using Fields = netfilter::RuleFields;
  // Returns whether the rule could be decoded.
  using Decode = bool (DecodedPortals::*)(const Fields&);

  void on_table(std::string_view name) override;
  void on_chain(std::string_view, bool) override {}
  void on_rule(std::string_view chain, std::string_view rule) override;

  Decode decoder_of(std::string_view chain) const;
  bool read_jump(const Fields& rule);
  bool read_redirect(const Fields& rule);
  bool read_accept(const Fields& rule);
  bool read_firewall(const Fields& rule);

  netfilter::RuleReader reader_;
  const abi::Family family_;
  std::optional<netfilter::Table> table_;  // empty: the current table is ignored
  std::string chain_;                      // of the current rule
  std::vector<std::string> jumps_;         // "nat OUTPUT KUBE-PORTALS-HOST"
};

}  // namespace sluice::userspace
