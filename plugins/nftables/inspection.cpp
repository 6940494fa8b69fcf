// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/inspection.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/nftables/model/service_state.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::nftables {
namespace {

// The sets a frontend may be in, for addresses and for node ports.
struct Sets {
  SetId classes, endpoints, rejected, dropped, affinity, traffic;
};
constexpr Sets kAddressSets{SetId::kServiceIps,      SetId::kEndpoints,        SetId::kNoEndpointServices,
                            SetId::kNoLocalServices, SetId::kAffinityServices, SetId::kServiceTraffic};
constexpr Sets kNodePortSets{SetId::kServiceNodePorts, SetId::kNodePortEndpoints, SetId::kNoEndpointNodePorts,
                            SetId::kNoLocalNodePorts, SetId::kAffinityNodePorts, SetId::kNodePortTraffic};

class Decoder {
 public:
  Decoder(Listing& seen, const Model& model, abi::Family family) : seen_(seen), family_(family) {
    for (const SharedChain& chain : model.chains()) chains_.emplace(chain.name, &chain);
    for (const DispatchWrite& one : seen.dispatch) dispatch_[{one.firewall, one.number}] = one.chain;
    for (const PortId& id : model.ids()) names_.emplace(comment_hash(element_comment(id.first)), id.first);
  }

  // All lines, by name; of those without a name it is empty.
  std::vector<std::pair<std::string, std::string>> lines() {
    for (const bool node_port : {false, true}) {
      const Sets& sets = node_port ? kNodePortSets : kAddressSets;
      for (const SetId set : {sets.classes, sets.rejected, sets.dropped}) {
        const RecordTable& there = records(set);
        for (std::size_t place = 0; place < there.size(); ++place) {
          if (!there.is_marked(place)) decode(there.key(place), there.comment(place), node_port);
        }
      }
    }
    std::stable_sort(lines_.begin(), lines_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return std::move(lines_);
  }

  // Elements nothing leads to.
  void strays(const std::function<void(const std::string&)>& line) const {
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
  RecordTable& records(SetId set) const { return seen_.records[index(set)]; }

  void each_stray(SetId set, const std::function<void(const Key&)>& tell) const {
    const RecordTable& there = records(set);
    for (std::size_t place = 0; place < there.size(); ++place) {
      if (!there.is_marked(place)) tell(there.key(place));
    }
  }

  std::optional<Data> take(SetId set, const Key& key) const {
    RecordTable& there = records(set);
    const auto place = there.find(key);
    if (!place) return std::nullopt;
    there.mark(*place);
    return there.data(*place);
  }

  void decode(const Key& key, std::uint64_t comment, bool node_port) {
    const Sets& sets = node_port ? kNodePortSets : kAddressSets;
    const FrontendKey frontend = read_frontend(family_, key, node_port);
    if (!node_port) addresses_.insert(frontend.address);
    std::string text = to_string(family_, frontend);
    const auto number = take(sets.classes, key);
    const auto chain = number ? dispatch_.find({false, read_number(*number)}) : dispatch_.end();
    const auto id = take(sets.affinity, key);
    const Frontend at{frontend, sets, id ? std::optional(read_number(*id)) : std::nullopt};
    if (number && chain == dispatch_.end()) {
      text += " -> nowhere, there is no chain " + std::to_string(read_number(*number)) + " in service-chains";
    } else if (number) {
      text += treated(at, chain->second);
    }
    const bool rejected = take(sets.rejected, key).has_value();
    const bool dropped = take(sets.dropped, key).has_value();
    if (rejected) text += number ? "; else rejected, no endpoints" : " -> rejected, no endpoints";
    if (dropped)
      text += number ? "; else dropped, no endpoints on this node" : " -> dropped, no endpoints on this node";
    if (!node_port) text += firewall(key);
    const auto name = names_.find(comment);
    lines_.emplace_back(name != names_.end() ? name->second : std::string(), std::move(text));
  }

  struct Frontend {
    FrontendKey key;
    const Sets& sets;
    std::optional<std::uint32_t> affinity;
  };

  std::string treated(const Frontend& at, const std::string& chain) const {
    const auto known = chains_.find(chain);
    if (known == chains_.end() || known->second->firewall) return " -> chain " + chain + ", which nobody wants";
    const Treatment& treatment = known->second->treatment;
    std::string text;
    if (treatment.affinity_seconds != 0) {
      text += " sticky for " + std::to_string(treatment.affinity_seconds) + " s";
    }
    switch (treatment.kind) {
      case Treatment::Kind::kCluster:
        return text + " -> " + endpoints(at, kClusterSlots, treatment.cluster);
      case Treatment::Kind::kExternal:
        return text + " masqueraded -> " + endpoints(at, kClusterSlots, treatment.cluster);
      case Treatment::Kind::kLocal:
        return text + " -> " + endpoints(at, kLocalSlots, treatment.local);
      case Treatment::Kind::kExternalLocal:
        break;
    }
    if (treatment.local != 0) text += " -> " + endpoints(at, kLocalSlots, treatment.local);
    if (treatment.cluster != 0) {
      text +=
          (treatment.local != 0 ? "; from this node -> " : " from this node -> ") + endpoints(at, kClusterSlots, treatment.cluster);
    }
    return text;
  }

  std::string endpoints(const Frontend& at, std::uint32_t first, std::uint32_t count) const {
    std::vector<std::string> found;
    std::string missing;
    for (std::uint32_t slot = first; slot < first + count; ++slot) {
      if (const auto endpoint = at_slot(at, slot)) {
        found.push_back(to_string(family_, *endpoint));
      } else {
        missing += (missing.empty() ? " (nothing in slot " : ", ") + slot_text(slot);
      }
    }
    std::sort(found.begin(), found.end());
    std::string text;
    for (const std::string& one : found) text += (text.empty() ? "" : ", ") + one;
    return text + (missing.empty() ? "" : missing + ")");
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

  std::string firewall(const Key& key) const {
    const auto number = take(SetId::kFirewallIps, key);
    if (!number) return {};
    const auto chain = dispatch_.find({true, read_number(*number)});
    if (chain == dispatch_.end()) return "; its source ranges are missing";
    const auto known = chains_.find(chain->second);
    if (known == chains_.end() || !known->second->firewall) return "; only for clients of chain " + chain->second;
    std::string text;
    for (const abi::Prefix& one : known->second->allowed) {
      text += (text.empty() ? "; only for " : ", ") + sdk::to_string(one, family_);
    }
    return text;
  }

  Listing& seen_;
  abi::Family family_;
  std::map<std::string, const SharedChain*, std::less<>> chains_;
  std::map<std::pair<bool, std::uint32_t>, std::string> dispatch_;
  std::unordered_map<std::uint64_t, std::string> names_;
  std::set<abi::Address> addresses_;
  std::vector<std::pair<std::string, std::string>> lines_;
};

// "shop/cart:http" is of "shop/cart".
bool is_of(std::string_view printed, std::string_view name) {
  return printed == name || (printed.starts_with(name) && printed[name.size()] == ':');
}

}  // namespace

void inspect(Listing seen, const Model& model, abi::Family family, std::string_view name,
             const std::function<void(const std::string&)>& line) {
  Decoder decoder(seen, model, family);
  const auto lines = decoder.lines();
  for (const auto& [owner, text] : lines) {
    if (!owner.empty() && (name.empty() || is_of(owner, name))) line(owner + " " + text);
  }
  if (!name.empty()) return;
  for (const auto& [owner, text] : lines) {
    if (owner.empty()) line("of nobody: " + text);
  }
  decoder.strays([&](const std::string& stray) { line("of nobody: " + stray); });
}

}  // namespace sluice::nftables
