// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/nftables/table_model.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_set>

#include "sluice/sdk/service.hpp"

namespace sluice::test {
namespace {

using namespace nftables;
using Kind = ServiceClass::Kind;

bool covers(const abi::Prefix& range, const abi::Prefix& other) {
  if (range.length > other.length) return false;
  for (unsigned bit = 0; bit < range.length; ++bit) {
    const unsigned shift = 7 - bit % 8;
    if ((range.address.bytes[bit / 8] >> shift & 1) != (other.address.bytes[bit / 8] >> shift & 1)) return false;
  }
  return true;
}

// Equal clients and equal lists.
Firewall in_order(const Firewall& ranges) {
  Firewall kept;
  for (const abi::Prefix& range : ranges) {
    const bool is_inside = std::any_of(ranges.begin(), ranges.end(), [&](const abi::Prefix& other) {
      return !(other == range) && covers(other, range);
    });
    if (!is_inside && std::find(kept.begin(), kept.end(), range) == kept.end()) kept.push_back(range);
  }
  std::sort(kept.begin(), kept.end(), [](const abi::Prefix& a, const abi::Prefix& b) { return a.address < b.address; });
  return kept;
}

std::string hex(const Key& key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < key.size(); ++i) {
    text += kDigits[key.data()[i] >> 4];
    text += kDigits[key.data()[i] & 15];
  }
  return text;
}

std::string place_text(const std::pair<SetId, Key>& place) {
  return "element " + hex(place.second) + " of set " + std::to_string(index(place.first));
}

}  // namespace

std::string to_string(abi::Family family, const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::kNothing: return "nothing";
    case Outcome::Kind::kRejected: return "reject";
    case Outcome::Kind::kDropped: return "drop";
    case Outcome::Kind::kBalanced: break;
  }
  std::string text;
  for (const EndpointAddress& endpoint : outcome.endpoints) {
    if (!text.empty()) text += ", ";
    text += nftables::to_string(family, endpoint);
  }
  if (outcome.masqueraded) text += " masqueraded";
  if (outcome.sticky_seconds != 0) text += " sticky " + std::to_string(outcome.sticky_seconds);
  return text;
}

TableModel::TableModel(abi::Family family, const std::vector<Record>& records, const std::vector<SharedChain>& chains)
    : family_(family) {
  for (const Record& record : records) {
    if (!elements_.emplace(Place(record.set, record.key), record.data).second) {
      doubled_.push_back(place_text({record.set, record.key}) + " is there twice");
    }
  }
  std::set<ServiceClass> before;
  std::set<std::string> names;
  for (const SharedChain& chain : chains) {
    if (chain.number == 0) doubled_.push_back("chain " + chain.name + " has number 0");
    if (!chains_.emplace(std::pair(chain.firewall, chain.number), chain).second) {
      doubled_.push_back("two chains have number " + std::to_string(chain.number));
    }
    if (!names.insert(chain.name).second) doubled_.push_back("two chains are named " + chain.name);
    if (chain.firewall) continue;
    const ServiceClass& service_class = chain.service_class;
    before.insert(service_class);
    if (service_class.kind != Kind::kExternal && service_class.kind != Kind::kExternalLocal) continue;
    ServiceClass goes_to = service_class;
    goes_to.kind = Kind::kCluster;
    goes_to.local = 0;
    if (service_class.cluster != 0 && before.count(goes_to) == 0) {
      doubled_.push_back("chain " + chain.name + " stands before one it goes to");
    }
    goes_to.kind = Kind::kLocal;
    goes_to.local = service_class.local;
    goes_to.cluster = 0;
    if (service_class.kind == Kind::kExternalLocal && service_class.local != 0 && before.count(goes_to) == 0) {
      doubled_.push_back("chain " + chain.name + " stands before one it goes to");
    }
  }
}

std::size_t TableModel::Hash::operator()(const Place& place) const noexcept {
  const std::string_view bytes(reinterpret_cast<const char*>(place.second.data()), place.second.size());
  return std::hash<std::string_view>()(bytes) * kSetCount + index(place.first);
}

std::optional<Data> TableModel::find(SetId set, const Key& key) const {
  const auto found = elements_.find(Place(set, key));
  return found == elements_.end() ? std::nullopt : std::optional<Data>(found->second);
}

const SharedChain* TableModel::chain_of(const FrontendKey& frontend) const {
  const auto number =
      find(frontend.node_port ? SetId::kServiceNodePorts : SetId::kServiceIps, frontend_key(family_, frontend));
  if (!number) return nullptr;
  const auto chain = chains_.find({false, read_number(*number)});
  return chain == chains_.end() ? nullptr : &chain->second;
}

std::vector<EndpointAddress> TableModel::balanced(const FrontendKey& frontend, const ServiceClass& service_class,
                                                  bool local, std::vector<std::string>* faults) const {
  std::vector<EndpointAddress> list;
  const auto fault = [&](const std::string& what) {
    if (faults != nullptr) faults->push_back(nftables::to_string(family_, frontend) + ": " + what);
  };
  const Key key = frontend_key(family_, frontend);
  const std::uint32_t length = local ? service_class.local : service_class.cluster;
  std::optional<Data> id;
  if (service_class.affinity_seconds != 0) {
    id = find(frontend.node_port ? SetId::kAffinityNodePorts : SetId::kAffinityServices, key);
    if (!id) {
      fault("has no affinity id");
      return list;
    }
    if (read_number(*id) == 0 || (read_number(*id) & ~kAffinityIdMask) != 0) fault("its affinity id is none");
  }
  for (std::uint32_t i = 0; i < length; ++i) {
    const std::uint32_t slot = (local ? kLocalSlots : kClusterSlots) + i;
    std::optional<Data> endpoint;
    if (!id) {
      endpoint = find(frontend.node_port ? SetId::kNodePortEndpoints : SetId::kEndpoints,
                      slot_key(family_, frontend, slot));
    } else if (const auto token = find(SetId::kAffinitySlots, affinity_slot_key(read_number(*id), slot))) {
      if ((read_number(*token) & kAffinityIdMask) != read_number(*id)) fault("has a token of another id");
      if ((read_number(*token) & ~kAffinityIdMask) == 0) fault("has a token without a number");
      endpoint = find(local ? SetId::kAffinityLocalEndpoints : SetId::kAffinityEndpoints,
                      token_key(frontend.protocol, read_number(*token)));
    }
    if (endpoint) {
      list.push_back(read_endpoint(family_, *endpoint));
    } else {
      fault("slot " + std::to_string(slot) + " of " + std::to_string(length) + " leads nowhere");
    }
  }
  std::sort(list.begin(), list.end());
  if (std::adjacent_find(list.begin(), list.end()) != list.end()) fault("an endpoint has two slots");
  return list;
}

Outcome TableModel::ask(Client client, const FrontendKey& frontend) const {
  Outcome outcome;
  if (const SharedChain* chain = chain_of(frontend)) {
    const ServiceClass& service_class = chain->service_class;
    bool local = service_class.kind == Kind::kLocal;
    outcome.masqueraded = service_class.kind == Kind::kExternal;
    if (service_class.kind == Kind::kExternalLocal) {
      local = client == Client::kOutside || service_class.cluster == 0;
      outcome.masqueraded = client == Client::kNode && service_class.cluster != 0;
    }
    outcome.endpoints = balanced(frontend, service_class, local, nullptr);
    if (!outcome.endpoints.empty()) {
      outcome.kind = Outcome::Kind::kBalanced;
      outcome.sticky_seconds = service_class.affinity_seconds;
      return outcome;
    }
    outcome.masqueraded = false;
  }
  const Key key = frontend_key(family_, frontend);
  if (find(frontend.node_port ? SetId::kNoEndpointNodePorts : SetId::kNoEndpointServices, key)) {
    outcome.kind = Outcome::Kind::kRejected;
  } else if (find(frontend.node_port ? SetId::kNoLocalNodePorts : SetId::kNoLocalServices, key)) {
    outcome.kind = Outcome::Kind::kDropped;
  }
  return outcome;
}

Firewall TableModel::firewall(const FrontendKey& frontend) const {
  if (frontend.node_port) return {};
  const auto number = find(SetId::kFirewallIps, frontend_key(family_, frontend));
  if (!number) return {};
  const auto chain = chains_.find({true, read_number(*number)});
  return chain == chains_.end() ? Firewall() : in_order(chain->second.allowed);
}

bool TableModel::has_cluster_ip(const abi::Address& address) const {
  return find(SetId::kClusterIps, address_key(family_, address)).has_value();
}

bool TableModel::is_hairpin(const EndpointAddress& endpoint, abi::Protocol protocol) const {
  return find(SetId::kHairpin, hairpin_key(family_, endpoint, protocol)).has_value();
}

std::vector<std::string> TableModel::faults() const {
  std::vector<std::string> faults = doubled_;
  std::unordered_set<Place, Hash> asked_for;
  for (const bool node_port : {false, true}) {
    const SetId frontends = node_port ? SetId::kServiceNodePorts : SetId::kServiceIps;
    const SetId rejected = node_port ? SetId::kNoEndpointNodePorts : SetId::kNoEndpointServices;
    const SetId dropped = node_port ? SetId::kNoLocalNodePorts : SetId::kNoLocalServices;
    for (const auto& [place, data] : elements_) {
      const Key& key = place.second;
      if (place.first == rejected && (find(dropped, key) || find(frontends, key))) {
        faults.push_back(place_text(place) + " is rejected and something else");
      }
      if (place.first != frontends) continue;
      const FrontendKey frontend = read_frontend(family_, key, node_port);
      const SharedChain* chain = chain_of(frontend);
      if (chain == nullptr) {
        faults.push_back(nftables::to_string(family_, frontend) + ": its class number leads nowhere");
        continue;
      }
      const ServiceClass& service_class = chain->service_class;
      if (service_class.node_port != node_port)
        faults.push_back(place_text(place) + " goes to a chain of the other kind");
      if (service_class.local == 0 && service_class.kind == Kind::kExternalLocal && !find(dropped, key)) {
        faults.push_back(place_text(place) + " has no local endpoints and is not dropped");
      }
      const bool uses_cluster = service_class.kind != Kind::kLocal && service_class.cluster != 0;
      const bool uses_local = (service_class.kind == Kind::kLocal || service_class.kind == Kind::kExternalLocal) &&
                              service_class.local != 0;
      for (const bool local : {false, true}) {
        if (!(local ? uses_local : uses_cluster)) continue;
        balanced(frontend, service_class, local, &faults);
        const auto id = find(node_port ? SetId::kAffinityNodePorts : SetId::kAffinityServices, key);
        if (service_class.affinity_seconds != 0) {
          asked_for.emplace(node_port ? SetId::kAffinityNodePorts : SetId::kAffinityServices, key);
        }
        for (std::uint32_t i = 0; i < (local ? service_class.local : service_class.cluster); ++i) {
          const std::uint32_t slot = (local ? kLocalSlots : kClusterSlots) + i;
          if (service_class.affinity_seconds == 0) {
            asked_for.emplace(node_port ? SetId::kNodePortEndpoints : SetId::kEndpoints,
                              slot_key(family_, frontend, slot));
          } else if (id) {
            const Key slot_place = affinity_slot_key(read_number(*id), slot);
            asked_for.emplace(SetId::kAffinitySlots, slot_place);
            const auto token = find(SetId::kAffinitySlots, slot_place);
            if (!token) continue;
            asked_for.emplace(local ? SetId::kAffinityLocalEndpoints : SetId::kAffinityEndpoints,
                              token_key(frontend.protocol, read_number(*token)));
          }
        }
      }
    }
  }
  constexpr SetId kAsked[] = {SetId::kEndpoints,         SetId::kNodePortEndpoints, SetId::kAffinityServices,
                              SetId::kAffinityNodePorts, SetId::kAffinitySlots,     SetId::kAffinityEndpoints,
                              SetId::kAffinityLocalEndpoints};
  std::map<std::pair<std::uint32_t, EndpointAddress>, std::uint32_t> tokens;  // with the id
  for (const auto& [place, data] : elements_) {
    if (std::find(std::begin(kAsked), std::end(kAsked), place.first) != std::end(kAsked) && asked_for.count(place) == 0) {
      faults.push_back(place_text(place) + ": nothing asks for it");
    }
    if (place.first == SetId::kFirewallIps && chains_.count({true, read_number(data)}) == 0) {
      faults.push_back(place_text(place) + ": its firewall leads nowhere");
    }
    if (place.first == SetId::kAffinityEndpoints || place.first == SetId::kAffinityLocalEndpoints) {
      const std::uint32_t token = last_word(place.second);
      const auto [known, is_new] = tokens.emplace(std::pair(token & kAffinityIdMask, read_endpoint(family_, data)), token);
      if (!is_new && known->second != token) faults.push_back(place_text(place) + ": its endpoint has two tokens");
      const auto other = find(SetId::kAffinityEndpoints, place.second);
      if (other && *other != data) faults.push_back(place_text(place) + ": its token is another endpoint in policy Cluster");
    }
  }
  return faults;
}

namespace {

std::vector<EndpointAddress> wanted_list(const abi::ServicePort& port, abi::ServicePortFlag used, abi::EndpointFlag in) {
  std::set<EndpointAddress> list;
  for (const abi::Endpoint& endpoint : sdk::endpoints(port)) {
    if (sdk::has(port, used) && sdk::has(endpoint, in)) list.insert({endpoint.address, endpoint.port});
  }
  return {list.begin(), list.end()};
}

}  // namespace

Outcome wanted_outcome(const abi::ServicePort& port, Client client, const abi::Frontend& frontend) {
  const auto cluster = wanted_list(port, abi::kUsesClusterEndpoints, abi::kEndpointInCluster);
  const auto local = wanted_list(port, abi::kUsesLocalEndpoints, abi::kEndpointInLocal);
  const bool any = sdk::has(port, abi::kHasAnyEndpoint) || !cluster.empty() || !local.empty();
  const std::uint32_t seconds = sdk::has(port, abi::kSessionAffinity) ? port.affinity_seconds : 0;
  const auto to = [&](const std::vector<EndpointAddress>& list, bool masqueraded) {
    return Outcome{Outcome::Kind::kBalanced, list, masqueraded, seconds};
  };
  const Outcome reject{Outcome::Kind::kRejected, {}, false, 0};
  const Outcome drop{Outcome::Kind::kDropped, {}, false, 0};
  if (frontend.kind == abi::FrontendKind::kClusterIp) {
    if (!sdk::has(port, abi::kInternalPolicyLocal)) return cluster.empty() ? reject : to(cluster, false);
    if (!local.empty()) return to(local, false);
    return any ? drop : reject;
  }
  if (!sdk::has(port, abi::kExternalPolicyLocal)) return cluster.empty() ? reject : to(cluster, true);
  if (!any) return reject;
  if (client != Client::kOutside && !cluster.empty()) return to(cluster, client == Client::kNode);
  return local.empty() ? drop : to(local, false);
}

Firewall wanted_firewall(abi::Family family, const abi::ServicePort& port, const abi::Address& node_ip,
                         const abi::Frontend& frontend) {
  if (frontend.kind == abi::FrontendKind::kNodePort) return {};
  const auto length = static_cast<std::uint8_t>(family == abi::Family::kIpv6 ? 128 : 32);
  Firewall vips;
  bool is_vip = false;
  for (const abi::Frontend& other : sdk::frontends_of(port, abi::FrontendKind::kLoadBalancer)) {
    is_vip = is_vip || (other.address == frontend.address && other.port == frontend.port);
    vips.push_back({other.address, length, {}});
  }
  if (!is_vip) return {};
  Firewall ranges;
  bool node_may = false;
  for (const abi::Prefix& range : sdk::source_ranges(port)) {
    if (range.length == 0) return {};
    node_may = node_may || covers(range, {node_ip, length, {}});
    ranges.push_back(range);
  }
  if (node_may) ranges.insert(ranges.end(), vips.begin(), vips.end());
  return in_order(ranges);
}

FrontendKey frontend_of(const abi::ServicePort& port, const abi::Frontend& frontend) {
  FrontendKey key;
  key.node_port = frontend.kind == abi::FrontendKind::kNodePort;
  if (!key.node_port) key.address = frontend.address;
  key.protocol = port.key.protocol;
  key.port = frontend.port;
  return key;
}

}  // namespace sluice::test
