// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decodes the rules of Services in the kernel while iptables-save prints them. Stores the text only of the first rules
// that it cannot decode. 100,000 endpoints take about 20 MB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/common/netfilter/rule_reader.hpp"
#include "plugins/common/netfilter/save_reader.hpp"
#include "plugins/iptables/names.hpp"
#include "plugins/iptables/service_names.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::iptables {

using inspection::Place;

// A rule that jumps to a chain of a service port.
struct DispatchRule {
  ChainId to{};
  std::optional<abi::Prefix> only_to;  // for a node port on these addresses only
  std::uint64_t packets = 0;           // matched so far, if the listing has counters
};
// A rule that rejects or drops packets.
struct RefusalRule {
  std::string name;  // of the service port, from the comment
  bool drops = false;
  SharedChain chain{};
  std::uint64_t packets = 0;  // as DispatchRule::packets
};
struct FrontendRules {
  std::vector<DispatchRule> dispatch;  // in the order of the rules
  std::vector<RefusalRule> refusals;
  std::optional<std::string> firewall;  // the service port of a rule in KUBE-PROXY-FIREWALL that drops the rest
  std::uint64_t firewall_packets = 0;   // as DispatchRule::packets
};

struct EndpointChoice {
  netfilter::ShortHash endpoint{};
  std::uint32_t seconds = 0;  // not 0: only for clients in the endpoint's affinity list, with this timeout
  double probability = 1;
};
struct BalancingChain {  // KUBE-SVC-, KUBE-SVL-
  std::vector<EndpointChoice> choices;
  bool masquerades = false;  // clients outside of the cluster, or all clients
};
struct EndpointChain {  // KUBE-SEP-
  std::optional<netfilter::HostPort> to;
  std::uint64_t packets = 0;  // translated, as DispatchRule::packets
  bool remembers = false;
  bool masquerades_itself = false;
};
struct ExternalChain {  // KUBE-EXT-
  bool masquerades = false;
  bool masquerades_node = false;
  std::optional<ChainId> pods;
  std::optional<ChainId> node;
  std::optional<ChainId> rest;
};
struct FirewallChain {  // KUBE-FW-
  std::vector<abi::Prefix> sources;
  std::optional<ChainId> to;
};

class KernelRules final : public netfilter::SaveReader {
 public:
  explicit KernelRules(abi::Family family) : family_(family), reader_(family) {}

  template <class Content>
  struct ListedChain : Content {
    std::size_t rules = 0;  // decoded or not
    bool reached = false;   // set by inspect()
  };
  template <class Content>
  using Chains = std::unordered_map<netfilter::ShortHash, ListedChain<Content>, ServiceNames::HashOfHash>;

  std::map<Place, FrontendRules> places;
  Chains<FirewallChain> firewalls;
  Chains<ExternalChain> externals;
  Chains<BalancingChain> clusters;
  Chains<BalancingChain> locals;
  Chains<EndpointChain> endpoints;

  // The addresses whose traffic jumps to KUBE-NODEPORTS.
  bool node_ports_everywhere = false;
  std::vector<abi::Address> node_port_addresses;

  // Whether a built-in chain jumps to one of this backend's chains, for all or for new connections.
  bool has_jump(Table table, std::string_view from, std::string_view to) const;
  bool marks = false;        // KUBE-MARK-MASQ marks packets
  bool masquerades = false;  // KUBE-POSTROUTING masquerades them

  // Rules in own chains that cannot be decoded: "nat -A KUBE-SERVICES …".
  static constexpr std::size_t kMostUnknown = 1000;
  std::vector<std::string> unknown;
  std::size_t more_unknown = 0;
  // Rules for health check node ports, by the service port that their comment names.
  std::vector<std::pair<std::string, std::uint16_t>> health_checks;

  abi::Family family() const noexcept { return family_; }

 private:
  using Fields = netfilter::RuleFields;
  // Returns whether the rule could be decoded.
  using Decode = bool (KernelRules::*)(const Fields&);

  void on_table(std::string_view name) override;
  void on_chain(std::string_view name, bool built_in) override;
  void on_rule(std::string_view chain, std::string_view rule) override;

  void enter(std::string_view chain);
  Decode decoder_of(std::string_view chain);
  bool read_built_in(const Fields& rule);
  bool read_services(const Fields& rule);
  bool read_node_ports(const Fields& rule);
  bool read_refusal(const Fields& rule);
  bool read_firewall_drop(const Fields& rule);
  bool read_health_check(const Fields& rule);
  bool read_mark(const Fields& rule);
  bool read_postrouting(const Fields& rule);
  bool read_balancing(const Fields& rule);
  bool read_endpoint(const Fields& rule);
  bool read_external(const Fields& rule);
  bool read_firewall(const Fields& rule);
  std::size_t& count_rules();
  void add_dispatch(const Place& place, DispatchRule rule);
  std::uint64_t packets() const { return counts() ? counts()->packets : 0; }

  const abi::Family family_;
  netfilter::RuleReader reader_;
  std::optional<Table> table_;  // empty: a table that is not decoded
  // The chain of the last rule.
  std::string chain_;
  bool entered_ = false;
  Decode decode_ = nullptr;  // null: a foreign chain
  std::optional<ChainId> id_;
  std::optional<SharedChain> shared_;
  std::vector<std::string> jumps_;  // "nat OUTPUT KUBE-SERVICES"
};

// The service port in the comment of a rule: its first word.
std::string_view name_in_comment(std::string_view comment) noexcept;

}  // namespace sluice::iptables
