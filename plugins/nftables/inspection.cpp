// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/inspection.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/nftables/layout/layout.hpp"
#include "plugins/nftables/model/service_state.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::nftables {
namespace {

using inspection::ServiceLine;

constexpr const char* kNotWanted = "not wanted by any Service";

class Decoder {
 public:
  Decoder(Listing& listing, const Model& model, abi::Family family) : listing_(listing), family_(family) {
    for (const SharedChain& chain : model.chains()) chains_.emplace(chain.name, &chain);
    for (const DispatchWrite& one : listing.dispatch) dispatch_[{one.firewall, one.number}] = one.chain;
    for (const PortId& id : model.ids()) names_.emplace(comment_hash(element_comment(id.first)), id.first);
    served_at_ = node_ports_at("services", 1);
    checked_at_ = node_ports_at("nodeport-endpoints-check", 1);
  }

  // All frontends, with the name of their service port; empty if the model does not have it.
  void lines(inspection::Answer& answer) {
    for (const bool node_port : {false, true}) {
      const FrontendSets& sets = frontend_sets(node_port);
      for (const SetId set : {sets.classes, sets.rejected, sets.dropped}) {
        const RecordTable& there = records(set);
        for (std::size_t place = 0; place < there.size(); ++place) {
          if (!there.is_marked(place)) answer.add(decode(there.key(place), there.comment(place), node_port));
        }
      }
    }
  }

  // Elements that no frontend leads to.
  void strays(const std::function<void(std::string)>& line) const {
    for (const SetId set : {SetId::kEndpoints, SetId::kNodePortEndpoints, SetId::kFirewallIps, SetId::kAffinityServices,
                            SetId::kAffinityNodePorts}) {
      const bool node_port = set == SetId::kNodePortEndpoints || set == SetId::kAffinityNodePorts;
      each_stray(set, [&](const Key& key) {
        const bool has_slot = set == SetId::kEndpoints || set == SetId::kNodePortEndpoints;
        line("element " + to_string(family_, read_frontend(family_, key, node_port)) +
             (has_slot ? " slot " + slot_text(last_word(key)) : std::string()) + " of " +
             set_spec(family_, set).name);
      });
    }
    for (const SetId set : {SetId::kAffinitySlots, SetId::kAffinityEndpoints, SetId::kAffinityLocalEndpoints}) {
      std::size_t count = 0;
      each_stray(set, [&](const Key&) { ++count; });
      if (count != 0) line(std::to_string(count) + " elements of " + set_spec(family_, set).name);
    }
    each_stray(SetId::kClusterIps, [&](const Key& key) {
      abi::Address address{};
      std::copy_n(key.data(), sdk::address_bytes(family_), address.bytes);
      if (!addresses_.contains(address)) {
        line("element " + sdk::to_string(address, family_) + " of " + set_spec(family_, SetId::kClusterIps).name);
      }
    });
  }

 private:
  RecordTable& records(SetId set) const { return listing_.records[index(set)]; }

  void each_stray(SetId set, const std::function<void(const Key&)>& visit) const {
    const RecordTable& there = records(set);
    for (std::size_t place = 0; place < there.size(); ++place) {
      if (!there.is_marked(place)) visit(there.key(place));
    }
  }

  std::optional<Data> take(SetId set, const Key& key) const {
    RecordTable& there = records(set);
    const auto place = there.find(key);
    if (!place) return std::nullopt;
    there.mark(*place);
    return there.data(*place);
  }

  ServiceLine decode(const Key& key, std::uint64_t comment, bool node_port) {
    const FrontendSets& sets = frontend_sets(node_port);
    const FrontendKey frontend = read_frontend(family_, key, node_port);
    if (!node_port) addresses_.insert(frontend.address);
    ServiceLine line;
    line.place = {frontend.node_port, frontend.address, frontend.port, frontend.protocol};
    const auto number = take(sets.classes, key);
    const auto chain = number ? dispatch_.find({false, read_number(*number)}) : dispatch_.end();
    const auto id = take(sets.affinity, key);
    const Frontend at{frontend, sets, id ? std::optional(read_number(*id)) : std::nullopt};
    if (number && chain == dispatch_.end()) {
      line.targets = inspection::nowhere({no_chain(*number, "service-chains")});
    } else if (number) {
      add_targets(at, chain->second, line);
    }
    const bool rejected = take(sets.rejected, key).has_value();
    const bool dropped = take(sets.dropped, key).has_value();
    if (rejected) line.otherwise = inspection::rejected();
    if (dropped) line.otherwise = inspection::dropped();
    if (node_port) {
      line.addresses = number ? served_at_ : checked_at_;
    } else {
      add_firewall(key, line);
    }
    const auto name = names_.find(comment);
    if (name != names_.end()) line.service_port = name->second;
    return line;
  }

  struct Frontend {
    FrontendKey key;
    const FrontendSets& sets;
    std::optional<std::uint32_t> affinity;
  };

  void add_targets(const Frontend& at, const std::string& chain, ServiceLine& line) const {
    const auto known = chains_.find(chain);
    if (known == chains_.end() || known->second->firewall) {
      line.targets = {{}, "chain " + chain, {kNotWanted}};
      return;
    }
    const ServiceClass& service_class = known->second->service_class;
    line.sticky_seconds = service_class.affinity_seconds;
    line.masqueraded = service_class.kind == ServiceClass::Kind::kExternal;
    if (service_class.kind == ServiceClass::Kind::kLocal || service_class.kind == ServiceClass::Kind::kExternalLocal) {
      if (service_class.local != 0) line.targets = endpoints(at, kLocalSlots, service_class.local);
      if (service_class.cluster != 0) line.from_node = endpoints(at, kClusterSlots, service_class.cluster);
    } else {
      line.targets = endpoints(at, kClusterSlots, service_class.cluster);
    }
  }

  inspection::Targets endpoints(const Frontend& at, std::uint32_t first, std::uint32_t count) const {
    inspection::Targets found;
    std::string missing;
    for (std::uint32_t slot = first; slot < first + count; ++slot) {
      if (const auto endpoint = at_slot(at, slot)) {
        found.list.push_back({endpoint->address, endpoint->port});
      } else {
        missing += (missing.empty() ? "nothing in slot " : ", ") + slot_text(slot);
      }
    }
    if (found.list.empty()) found.instead = inspection::kNowhere;
    if (!missing.empty()) found.remarks.push_back(std::move(missing));
    return found;
  }

  std::optional<EndpointAddress> at_slot(const Frontend& at, std::uint32_t slot) const {
    std::optional<Data> data;
    if (at.affinity) {
      const auto token = take(SetId::kAffinitySlots, affinity_slot_key(*at.affinity, slot));
      if (!token) return std::nullopt;
      const SetId tokens = slot >= kLocalSlots ? SetId::kAffinityLocalEndpoints : SetId::kAffinityEndpoints;
      data = take(tokens, token_key(at.key.protocol, read_number(*token)));
    } else {
      data = take(at.sets.endpoints, slot_key(family_, at.key, slot));
    }
    if (!data) return std::nullopt;
    return read_endpoint(family_, *data);
  }

  static std::string no_chain(const Data& number, const char* map) {
    return "there is no chain " + std::to_string(read_number(number)) + " in " + map;
  }

  void add_firewall(const Key& key, ServiceLine& line) const {
    const auto number = take(SetId::kFirewallIps, key);
    if (!number) return;
    const auto chain = dispatch_.find({true, read_number(*number)});
    if (chain == dispatch_.end()) {
      line.only_for = {true, {}, "all clients", {no_chain(*number, "firewall-chains")}};
      return;
    }
    const auto known = chains_.find(chain->second);
    if (known == chains_.end() || !known->second->firewall) {
      line.only_for = {true, {}, "clients of chain " + chain->second, {kNotWanted}};
      return;
    }
    line.only_for = {true, known->second->allowed};
  }

  // The addresses on which node ports are matched by the rule at position `end` from the end of a fixed chain. The
  // kernel's rules are compared with both forms that this backend writes.
  inspection::NodePortAddresses node_ports_at(const std::string& chain, std::size_t end) const {
    const auto there = listing_.chains.find(chain);
    if (there == listing_.chains.end()) return {};
    for (const bool match_all : {true, false}) {
      LayoutFacts facts;
      facts.family = family_;
      facts.node_ports_match_all = match_all;
      const std::vector<ChainSpec> fixed = fixed_chains(facts);
      const auto spec =
          std::find_if(fixed.begin(), fixed.end(), [&](const ChainSpec& one) { return one.name == chain; });
      const Rule& rule = spec->rules[spec->rules.size() - end];
      const std::vector<Rule>& rules = there->second.rules;
      if (std::find(rules.begin(), rules.end(), rule) == rules.end()) continue;
      return match_all ? inspection::NodePortAddresses{true} : node_port_addresses();
    }
    return {};
  }

  inspection::NodePortAddresses node_port_addresses() const {
    inspection::NodePortAddresses found;
    const RecordTable& there = records(SetId::kNodePortIps);
    for (std::size_t place = 0; place < there.size(); ++place) {
      abi::Address address{};
      std::copy_n(there.key(place).data(), sdk::address_bytes(family_), address.bytes);
      found.add(address, family_);
    }
    return found;
  }

  Listing& listing_;
  abi::Family family_;
  std::map<std::string, const SharedChain*, std::less<>> chains_;
  std::map<std::pair<bool, std::uint32_t>, std::string> dispatch_;
  std::unordered_map<std::uint64_t, std::string> names_;
  std::set<abi::Address> addresses_;
  inspection::NodePortAddresses served_at_;   // where rules send node ports to endpoints
  inspection::NodePortAddresses checked_at_;  // where rules reject or drop node ports
};

}  // namespace

void inspect(Listing listing, const Model& model, abi::Family family, inspection::Answer& answer) {
  Decoder decoder(listing, model, family);
  decoder.lines(answer);
  if (answer.is_complete()) decoder.strays([&](std::string stray) { answer.add_not_wanted(std::move(stray)); });
}

}  // namespace sluice::nftables
