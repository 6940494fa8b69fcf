// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Rules of Services as the kernel has them, decoded while iptables-save prints them: the text of no rule is kept but of
// the first ones that are not understood. 100,000 endpoints take about 20 MB.
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

// A rule that leads packets into a chain of a service port.
struct SeenLead {
  ChainId to{};
  std::optional<abi::Prefix> only_to;  // of a node port: these addresses only
};
// A rule that rejects or drops packets.
struct SeenRefusal {
  std::string name;  // of the service port, as the comment has it
  bool drops = false;
  SharedChain chain{};
};
struct SeenPlace {
  std::vector<SeenLead> leads;  // in the order of the rules
  std::vector<SeenRefusal> refusals;
  std::optional<std::string> firewall;  // KUBE-PROXY-FIREWALL drops the rest; the service port in the comment
};

struct SeenChoice {
  netfilter::ShortHash endpoint{};
  std::uint32_t seconds = 0;  // not 0: for clients that the endpoint remembers for this long
  double probability = 1;
};
struct SeenBalancing {  // KUBE-SVC-, KUBE-SVL-
  std::vector<SeenChoice> choices;
  bool masquerades = false;  // clients outside of the cluster, or all of them
};
struct SeenEndpoint {  // KUBE-SEP-
  std::optional<netfilter::HostPort> to;
  bool remembers = false;
  bool masquerades_itself = false;
};
struct SeenExternal {  // KUBE-EXT-
  bool masquerades = false;
  bool masquerades_node = false;
  std::optional<ChainId> pods;
  std::optional<ChainId> node;
  std::optional<ChainId> rest;
};
struct SeenFirewall {  // KUBE-FW-
  std::vector<abi::Prefix> sources;
  std::optional<ChainId> to;
};

class SeenRules final : public netfilter::SaveReader {
 public:
  explicit SeenRules(abi::Family family) : family_(family), reader_(family) {}

  template <class Content>
  struct Seen : Content {
    std::size_t rules = 0;  // understood or not
    bool reached = false;   // for the reader of this object
  };
  template <class Content>
  using Chains = std::unordered_map<netfilter::ShortHash, Seen<Content>, ServiceNames::HashOfHash>;

  std::map<Place, SeenPlace> places;
  Chains<SeenFirewall> firewalls;
  Chains<SeenExternal> externals;
  Chains<SeenBalancing> clusters;
  Chains<SeenBalancing> locals;
  Chains<SeenEndpoint> endpoints;

  // Where KUBE-NODEPORTS is reached.
  bool node_ports_everywhere = false;
  std::vector<abi::Address> node_port_addresses;

  // A built-in chain leads to one of ours, whether or not for new connections only.
  bool has_jump(Table table, std::string_view from, std::string_view to) const;
  bool marks = false;        // KUBE-MARK-MASQ marks packets
  bool masquerades = false;  // KUBE-POSTROUTING masquerades them

  // Rules in chains of ours that are not understood: "nat -A KUBE-SERVICES …".
  static constexpr std::size_t kMostUnknown = 1000;
  std::vector<std::string> unknown;
  std::size_t more_unknown = 0;
  // Rules for health check node ports, by the service port that their comment names.
  std::vector<std::pair<std::string, std::uint16_t>> health_checks;

  abi::Family family() const noexcept { return family_; }

 private:
  using Fields = netfilter::RuleFields;
  // Returns whether the rule is understood.
  using Decode = bool (SeenRules::*)(const Fields&);

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
  void add_lead(const Place& place, const SeenLead& lead);

  const abi::Family family_;
  netfilter::RuleReader reader_;
  std::optional<Table> table_;  // empty: none that matters
  // The chain of the last rule.
  std::string chain_;
  bool entered_ = false;
  Decode decode_ = nullptr;  // null: not ours
  std::optional<ChainId> id_;
  std::optional<SharedChain> shared_;
  std::vector<std::string> jumps_;  // "nat OUTPUT KUBE-SERVICES"
};

// The service port in the comment of a rule: its first word.
std::string_view name_in_comment(std::string_view comment) noexcept;

}  // namespace sluice::iptables
