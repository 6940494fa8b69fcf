// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/explanation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/rule_text.hpp"
#include "plugins/nftables/kernel/encoder.hpp"
#include "plugins/nftables/layout/pieces.hpp"
#include "plugins/nftables/wanted_listing.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::nftables {
namespace {

using abi::InspectedVerdict;
using inspection::Explanation;
using ClassOf = ServiceClass::Kind;

constexpr const char* kMarks = "marks the packet for masquerading";

// The rules of a chain that the backend writes, as the kernel has them.
struct PathChain {
  std::string name;
  std::vector<bool> there;  // by position
  // The rule at this position from the end.
  std::size_t from_end(std::size_t position) const { return there.size() - position; }
};

std::string rule_name(const PathChain& chain, std::size_t position) {
  return "rule " + std::to_string(position + 1) + " of chain " + chain.name;
}

// As rules are compared. Firewall chains may have thousands of rules.
using RuleKey = std::pair<std::string_view, std::string_view>;
using RuleKeys = std::set<RuleKey>;
RuleKey key_of(const Rule& rule) { return {rule.text, rule.comment}; }
RuleKeys keys_of(const std::vector<Rule>& rules) {
  RuleKeys keys;
  for (const Rule& rule : rules) keys.insert(key_of(rule));
  return keys;
}

// Why a packet to a cluster IP is masqueraded.
std::string outside_text(const LayoutFacts& facts) {
  if (facts.masquerade_all) return "as all packets to cluster IPs";
  if (facts.detector == abi::LocalDetectorKind::kCidr) {
    return "as it is from outside of " + sdk::to_string(facts.detector_cidr, facts.family);
  }
  const bool is_prefix = facts.detector == abi::LocalDetectorKind::kInterfaceNamePrefix;
  return "as it did not arrive through interface " + facts.detector_interface + (is_prefix ? "*" : "");
}

class PacketPath {
 public:
  PacketPath(const Listing& listing, const TableFacts& facts, const Model& model, bool to_this_node, Explanation& steps)
      : listing_(listing),
        facts_(facts),
        family_(facts.layout.family),
        packet_(steps.packet()),
        to_this_node_(to_this_node),
        steps_(steps),
        wanted_(wanted_frame(facts, model)) {
    for (const SharedChain& chain : model.chains()) shared_.emplace(chain.name, &chain);
    for (const DispatchWrite& one : listing.dispatch) dispatch_[{one.firewall, one.number}] = one.chain;
    for (const abi::Address& address : facts.node_port_ips) {
      written_.emplace(Place(SetId::kNodePortIps, address_key(family_, address)), Data());
    }
    for (const bool node_port : {false, true}) {
      const auto owner = model.owner(frontend(node_port));
      if (!owner) continue;
      model.walk({std::string(*owner), packet_.protocol}, [this](const Record& record, std::string_view) {
        written_.emplace(Place(record.set, record.key), record.data);
      });
    }
  }

  void follow() {
    if (!listing_.exists)
      return end({.object = table_text(family_), .effect = "does not exist"}, InspectedVerdict::kNotProxied);
    if (passes_source_ranges() && !translates() && !refuses()) {
      end({.object = table_text(family_), .effect = "does not handle this destination"}, InspectedVerdict::kNotProxied);
    }
  }

 private:
  using Place = std::pair<SetId, Key>;
  using Step = Explanation::Step;
  struct At {
    FrontendKey key;
    const FrontendSets& sets;
  };

  FrontendKey frontend(bool node_port) const {
    return {node_port, node_port ? abi::Address() : packet_.address, packet_.protocol, packet_.port};
  }

  // Remarks about what the packet does not meet are part of the next step.
  void add(Step step) {
    for (std::string& remark : pending_) inspection::add(step.remarks, std::move(remark));
    pending_.clear();
    steps_.add(std::move(step));
  }
  void end(Step step, InspectedVerdict verdict) {
    step.verdict = verdict;
    add(std::move(step));
  }
  void note(std::string remark) { inspection::add(pending_, std::move(remark)); }

  PathChain enter(const std::string& name) {
    PathChain chain{name, {}};
    const auto wanted = wanted_.chains.find(name);
    const auto found = listing_.chains.find(name);
    if (wanted == wanted_.chains.end()) {
      note("chain " + name + " was not written by this backend");
      return chain;
    }
    chain.there.resize(wanted->second.rules.size());
    if (found == listing_.chains.end()) {
      note("chain " + name + " does not exist");
      return chain;
    }
    const RuleKeys written = keys_of(wanted->second.rules);
    const RuleKeys there = keys_of(found->second.rules);
    const auto is_foreign = [&](const RuleKey& key) { return !written.contains(key); };
    if (std::any_of(there.begin(), there.end(), is_foreign)) {
      note("chain " + name + " has rules of others, which may decide first");
    }
    if (!(found->second.hook == wanted->second.hook)) {
      note("chain " + name + " is not attached as written");
      return chain;
    }
    for (std::size_t i = 0; i < chain.there.size(); ++i)
      chain.there[i] = there.contains(key_of(wanted->second.rules[i]));
    return chain;
  }

  // Whether the kernel has the rule. Call it only if the packet matches the rule.
  bool meets(const PathChain& chain, std::size_t position) {
    if (position < chain.there.size() && chain.there[position]) return true;
    if (listing_.chains.contains(chain.name)) note(rule_name(chain, position) + " is missing");
    return false;
  }

  std::optional<Data> find(SetId set, const Key& key) {
    const RecordTable& there = listing_.records[index(set)];
    const auto place = there.find(key);
    const auto written = written_.find({set, key});
    std::optional<Data> data;
    if (place) data = there.data(*place);
    if (written == written_.end()) {
      if (data && set != SetId::kClusterIps) note(text(set, key) + " was not written by this backend");
    } else if (!data) {
      note(text(set, key) + " is missing");
    } else if (*data != written->second) {
      note(text(set, key) + " has other data than written");
    }
    return data;
  }
  std::string text(SetId set, const Key& key) const { return describe(family_, {set, key, {}}); }

  // The chain that a class number leads to.
  std::optional<std::string> chain_of(bool firewall, const Data& number) {
    const auto known = dispatch_.find({firewall, read_number(number)});
    if (known != dispatch_.end() && !known->second.empty()) return known->second;
    note("element " + slot_text(read_number(number)) + " of " + (firewall ? "firewall-chains" : "service-chains") +
         (known == dispatch_.end() ? " is missing" : " leads to no chain"));
    return std::nullopt;
  }
  const SharedChain* shared_chain(const std::string& name, bool firewall) const {
    const auto known = shared_.find(name);
    return known == shared_.end() || known->second->firewall != firewall ? nullptr : known->second;
  }

  bool passes_source_ranges() {
    const Key key = frontend_key(family_, frontend(false));
    const auto number = find(SetId::kFirewallIps, key);
    if (!number) return true;
    if (!meets(enter(packet_.of_node ? "filter-output-pre-dnat" : "filter-prerouting-pre-dnat"), 0)) return true;
    const auto name = chain_of(true, *number);
    if (!name) return true;
    add({.object = text(SetId::kFirewallIps, key), .effect = "goes to chain " + *name});
    const SharedChain* const shared = shared_chain(*name, true);
    const PathChain chain = enter(*name);
    if (shared == nullptr) return true;
    std::size_t i = 0;
    for (; i < shared->allowed.size(); ++i) {
      const abi::Prefix& range = shared->allowed[i];
      if (!netfilter::contains(range, packet_.client) || !meets(chain, i)) continue;
      add({.object = rule_name(chain, i), .effect = "allows clients in " + sdk::to_string(range, family_)});
      return true;
    }
    if (!meets(chain, i)) return true;
    end({.object = rule_name(chain, i), .effect = "drops clients outside of the source ranges"},
        InspectedVerdict::kDropped);
    return false;
  }

  bool translates() {
    if (!meets(enter(packet_.of_node ? "nat-output" : "nat-prerouting"), 0)) return false;
    const PathChain services = enter("services");
    mark_cluster_ip(services);
    for (const bool node_port : {false, true}) {
      if (node_port && !at_node_port_address(/*arrived=*/false)) break;
      const At at{frontend(node_port), frontend_sets(node_port)};
      const Key key = frontend_key(family_, at.key);
      const auto number = find(at.sets.classes, key);
      if (!number || !meets(services, services.from_end(node_port ? 1 : 2))) continue;
      const auto name = chain_of(false, *number);
      if (!name) continue;
      add({.object = text(at.sets.classes, key), .effect = "goes to chain " + *name});
      return goes_to(*name, at);
    }
    return false;
  }

  bool of_local_pod() const {
    const LayoutFacts& layout = facts_.layout;
    return layout.detector == abi::LocalDetectorKind::kCidr ? netfilter::contains(layout.detector_cidr, packet_.client)
                                                            : packet_.of_pod;
  }
  bool at_node_port_address(bool arrived) {
    if (!facts_.layout.node_ports_match_all)
      return find(SetId::kNodePortIps, address_key(family_, packet_.address)).has_value();
    return (arrived || to_this_node_) && !netfilter::is_loopback(family_, packet_.address);
  }

  void mark_cluster_ip(const PathChain& services) {
    const LayoutFacts& layout = facts_.layout;
    if (!layout.masquerade_all && (!can_match_other_sources(layout) || of_local_pod())) return;
    if (!find(SetId::kClusterIps, address_key(family_, packet_.address)) || !meets(services, 0)) return;
    add({.object = rule_name(services, 0),
         .effect = std::string(kMarks) + ", " + outside_text(layout),
         .masquerades = masquerades()});
  }
  bool masquerades() {
    const PathChain base = enter("nat-postrouting");
    return meets(base, 0) && meets(enter("masquerading"), 0);
  }

  bool goes_to(const std::string& name, const At& at) {
    const SharedChain* const shared = shared_chain(name, false);
    if (shared == nullptr) {
      end({.object = "chain " + name,
           .effect = "does what its rules say",
           .remarks = {"it was not written by this backend"}},
          InspectedVerdict::kNotProxied);
      return true;
    }
    const ServiceClass& service_class = shared->service_class;
    if (service_class.kind == ClassOf::kExternal) return external(name, service_class, at);
    if (service_class.kind == ClassOf::kExternalLocal) return external_local(name, service_class, at);
    const PathChain chain = enter(name);
    return service_class.affinity_seconds != 0 ? balances_sticky(chain, service_class, at)
                                               : balances(chain, service_class, at);
  }

  bool external(const std::string& name, const ServiceClass& service_class, const At& at) {
    const PathChain chain = enter(name);
    const bool marks = meets(chain, 0);
    const std::vector<ServiceClass> next = depends_on(service_class);
    const bool goes = !next.empty() && meets(chain, 1);
    leave(chain, marks, goes ? &next.front() : nullptr, {});
    return goes && goes_to(chain_name(next.front()), at);
  }

  bool external_local(const std::string& name, const ServiceClass& service_class, const At& at) {
    const PathChain chain = enter(name);
    const std::vector<ServiceClass> next = depends_on(service_class);
    const bool has_pods = can_match_local(facts_.layout);
    std::size_t i = 0;
    bool marks = false;
    const ServiceClass* to = nullptr;
    std::string why;
    if (service_class.cluster != 0) {
      if (has_pods && of_local_pod() && meets(chain, 0)) {
        to = &next.front();
        why = ", as the client is a pod of this node";
      }
      i = has_pods ? 1 : 0;
      if (to == nullptr && packet_.of_node) {
        marks = meets(chain, i);
        if (meets(chain, i + 1)) to = &next.front();
        why = ", as the client is on this node";
      }
      i += 2;
    }
    if (to == nullptr && service_class.local != 0 && meets(chain, i)) {
      to = &next.back();
      why = ", to endpoints on this node";
    }
    leave(chain, marks, to, to == nullptr ? std::string() : why);
    return to != nullptr && goes_to(chain_name(*to), at);
  }

  // The step of a chain that goes to another one.
  void leave(const PathChain& chain, bool marks, const ServiceClass* to, const std::string& why) {
    std::string effect = marks ? kMarks : "";
    if (marks && to != nullptr) effect += ", ";
    if (to != nullptr) effect += "goes to chain " + chain_name(*to) + why;
    if (effect.empty()) effect = "has no endpoint for this client";
    add({.object = "chain " + chain.name, .effect = std::move(effect), .masquerades = marks && masquerades()});
  }

  // A list of endpoints. Packets to a slot without an endpoint get the one in the first slot, by a later rule.
  struct Slots {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::optional<std::uint32_t> affinity;
  };

  static Slots slots_of(const ServiceClass& service_class) {
    if (service_class.kind == ClassOf::kLocal) return {kLocalSlots, service_class.local, {}};
    return {kClusterSlots, service_class.cluster, {}};
  }
  static std::string choice(const Slots& slots) {
    return slots.count == 1 ? "the only endpoint" : "one of " + std::to_string(slots.count) + " endpoints at random";
  }

  bool balances(const PathChain& chain, const ServiceClass& service_class, const At& at) {
    const Slots slots = slots_of(service_class);
    if (!meets(chain, 0)) return false;
    const PathChain translating = enter(slot_chain_name(at.key.node_port, slots.first == kLocalSlots));
    add({.object = "chain " + chain.name,
         .effect = "chooses " + choice(slots) + ", goes to chain " + translating.name});
    const std::string map = set_name(family_, at.sets.endpoints);
    return serve(translating, 0, 1, "translates the destination to the endpoint in map " + map, slots, at);
  }

  // Rules: see balance_sticky() of layout/shared_chains.cpp.
  bool balances_sticky(const PathChain& chain, const ServiceClass& service_class, const At& at) {
    Slots slots = slots_of(service_class);
    const auto id = find(at.sets.affinity, frontend_key(family_, at.key));
    if (!id || !meets(chain, 0)) return false;
    slots.affinity = read_number(*id);
    const std::string effect = "sends a known client to its endpoint of the last " +
                               std::to_string(service_class.affinity_seconds) + " s, a new client to " + choice(slots);
    return serve(chain, 3, 6, effect, slots, at);
  }

  bool serve(const PathChain& chain, std::size_t rule, std::size_t first_slot_rule, const std::string& effect,
             const Slots& slots, const At& at) {
    Step step{.object = "chain " + chain.name, .effect = effect};
    const bool any_slot = meets(chain, rule);
    bool gaps = false;
    for (std::uint32_t slot = slots.first; slot < slots.first + slots.count; ++slot) {
      const auto endpoint = any_slot ? at_slot(slots, slot, at) : std::nullopt;
      if (endpoint) step.targets.push_back(target(*endpoint));
      gaps = gaps || !endpoint;
    }
    if (gaps) {
      const auto first = at_slot(slots, slots.first, at);
      const bool falls_back = first && meets(chain, first_slot_rule);
      if (falls_back && step.targets.empty()) step.targets.push_back(target(*first));
      if (!falls_back) note("packets to a slot without an endpoint are not translated");
    }
    if (step.targets.empty()) return false;
    end(std::move(step), InspectedVerdict::kServed);
    return true;
  }

  std::optional<EndpointAddress> at_slot(const Slots& slots, std::uint32_t slot, const At& at) {
    std::optional<Data> data;
    if (slots.affinity) {
      const auto token = find(SetId::kAffinitySlots, affinity_slot_key(*slots.affinity, slot));
      if (token) {
        const SetId tokens = slots.first == kLocalSlots ? SetId::kAffinityLocalEndpoints : SetId::kAffinityEndpoints;
        data = find(tokens, token_key(packet_.protocol, read_number(*token)));
      }
    } else {
      data = find(at.sets.endpoints, slot_key(family_, at.key, slot));
    }
    if (!data) return std::nullopt;
    return read_endpoint(family_, *data);
  }

  inspection::Target target(const EndpointAddress& endpoint) {
    inspection::Target made{endpoint.address, endpoint.port};
    if (endpoint.address == packet_.client && find(SetId::kHairpin, hairpin_key(family_, endpoint, packet_.protocol)) &&
        meets(enter("nat-postrouting"), 0) && meets(enter("masquerading"), 1)) {
      made.remarks.push_back("masqueraded, as it is the client itself");
    }
    return made;
  }

  // The filter hooks, for a packet that still has the address of a Service. The last two rules of each chain jump to
  // checks.
  bool refuses() {
    if (packet_.of_node || !to_this_node_) {
      const PathChain chain = enter(packet_.of_node ? "filter-output" : "filter-forward");
      if (meets(chain, chain.from_end(2)) && refuses_frontend(false)) return true;
      if (meets(chain, chain.from_end(1)) && refuses_cluster_ip()) return true;
    }
    if (!to_this_node_) return false;
    const PathChain input = enter("filter-input");
    if (at_node_port_address(/*arrived=*/true) && meets(input, input.from_end(2)) && refuses_frontend(true))
      return true;
    return meets(input, input.from_end(1)) && refuses_frontend(false);
  }

  bool refuses_frontend(bool node_port) {
    const PathChain chain = enter(node_port ? "nodeport-endpoints-check" : "service-endpoints-check");
    const FrontendSets sets = frontend_sets(node_port);
    const Key key = frontend_key(family_, frontend(node_port));
    return ends_at(chain, 0, sets.dropped, key, "drops the packet: no endpoints on this node",
                   InspectedVerdict::kDropped) ||
           ends_at(chain, 1, sets.rejected, key, "rejects the packet: no endpoints", InspectedVerdict::kRejected);
  }

  bool refuses_cluster_ip() {
    const PathChain chain = enter(kClusterIpsCheck);
    if (ends_at(chain, 0, SetId::kClusterIps, address_key(family_, packet_.address),
                "rejects the packet: no Service has this port of the cluster IP", InspectedVerdict::kRejected)) {
      return true;
    }
    const std::vector<abi::Prefix>& ranges = facts_.layout.service_cidrs;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (!netfilter::contains(ranges[i], packet_.address) || !meets(chain, i + 1)) continue;
      end({.object = rule_name(chain, i + 1),
           .effect = "drops the packet: no Service has this address of " + sdk::to_string(ranges[i], family_)},
          InspectedVerdict::kDropped);
      return true;
    }
    return false;
  }

  bool ends_at(const PathChain& chain, std::size_t rule, SetId set, const Key& key, const char* effect,
               InspectedVerdict verdict) {
    if (!find(set, key) || !meets(chain, rule)) return false;
    end({.object = text(set, key), .effect = effect}, verdict);
    return true;
  }

  const Listing& listing_;
  const TableFacts& facts_;
  const abi::Family family_;
  const inspection::Packet& packet_;
  const bool to_this_node_;
  Explanation& steps_;
  const Listing wanted_;  // without elements
  std::map<std::string, const SharedChain*, std::less<>> shared_;
  std::map<std::pair<bool, std::uint32_t>, std::string> dispatch_;
  std::map<Place, Data> written_;  // of the service ports at this destination
  inspection::Remarks pending_;
};

}  // namespace

void explain(const Listing& listing, const TableFacts& facts, const Model& model, bool to_this_node,
             Explanation& steps) {
  PacketPath(listing, facts, model, to_this_node, steps).follow();
}

}  // namespace sluice::nftables
