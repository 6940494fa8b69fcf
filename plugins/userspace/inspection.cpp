// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/inspection.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/userspace/portal/decoded_portals.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/inspection.hpp"

namespace sluice::userspace {
namespace {

using inspection::add;
using inspection::Remarks;
using inspection::ServiceLine;
using netfilter::Table;

class Decoder {
 public:
  Decoder(const DecodedPortals& kernel, const DecodedPortals& written, const ServiceTable& table, const PortalFacts& facts,
          inspection::Answer& answer)
      : kernel_(kernel), written_(written), table_(table), facts_(facts), answer_(answer) {
    for (const ServiceTable::BoundListener& at : table.bound_listeners())
      listeners_.emplace(DecodedPortals::Port{at.listener->protocol(), at.port}, at);
    for (const auto& [place, there] : kernel.places) {
      if (!there.drops_others.empty()) balancers_[there.drops_others].push_back(place.address);
    }
  }

  void write() {
    std::set<Place> all;
    for (const DecodedPortals* const from : {&kernel_, &written_}) {
      for (const auto& [place, there] : from->places) all.insert(place);
    }
    for (const Place& place : all) write_place(place);
    if (!answer_.is_complete()) return;
    for (const auto& [port, name] : kernel_.accepted) {
      if (is_wanted(name, abi::Protocol::kTcp) || is_wanted(name, abi::Protocol::kUdp)) continue;
      answer_.add_not_wanted("port " + std::to_string(port.second) + " of " + name + " in KUBE-NODEPORT-NON-LOCAL");
    }
    for (const std::string& rule : kernel_.unknown) answer_.add_not_wanted("rule " + rule);
    if (kernel_.more_unknown != 0) answer_.add_not_wanted(std::to_string(kernel_.more_unknown) + " more rules");
  }

 private:
  // What the rules of one frontend do with the clients of one service port.
  struct Clients {
    std::vector<const DecodedRedirect*> to_local;    // from other hosts and pods, to the listener of local endpoints
    std::vector<const DecodedRedirect*> to_cluster;  // from other hosts and pods, to the listener of all endpoints
    std::vector<const DecodedRedirect*> sent;        // from processes of this node
    bool rejects = false;
    bool drops_without_local = false;
    bool drops_others = false;
    bool passes_node = false;
    bool redirects() const { return !to_local.empty() || !to_cluster.empty() || !sent.empty(); }
    bool any() const { return redirects() || rejects || drops_without_local || drops_others; }
  };

  bool is_wanted(const std::string& name, abi::Protocol protocol) const { return table_.contains({name, protocol}); }

  void write_place(const Place& place) {
    std::set<std::string> names;
    for (const DecodedPortals* const from : {&kernel_, &written_}) {
      const auto found = from->places.find(place);
      if (found == from->places.end()) continue;
      for (const auto* const redirects : {&found->second.arriving, &found->second.sent}) {
        for (const DecodedRedirect& redirect : *redirects) names.insert(redirect.listener.name);
      }
      const DecodedPortal& portal = found->second;
      for (const std::string* const name : {&portal.rejects, &portal.drops_without_local, &portal.drops_others}) {
        if (!name->empty()) names.insert(*name);
      }
    }
    for (const std::string& name : names) {
      const bool wanted = is_wanted(name, place.protocol);
      if (answer_.wants(wanted ? name : std::string())) write_line(place, name, wanted);
    }
  }

  static Clients clients_of(const DecodedPortals& from, const Place& place, const std::string& name) {
    Clients clients;
    const auto found = from.places.find(place);
    if (found == from.places.end()) return clients;
    for (const DecodedRedirect& redirect : found->second.arriving) {
      if (redirect.listener.name == name)
        (redirect.listener.local ? clients.to_local : clients.to_cluster).push_back(&redirect);
    }
    for (const DecodedRedirect& redirect : found->second.sent) {
      if (redirect.listener.name == name) clients.sent.push_back(&redirect);
    }
    clients.rejects = found->second.rejects == name;
    clients.drops_without_local = found->second.drops_without_local == name;
    clients.drops_others = found->second.drops_others == name;
    clients.passes_node = found->second.passes_node;
    return clients;
  }

  void write_line(const Place& place, const std::string& name, bool wanted) {
    ServiceLine line;
    if (wanted) line.service_port = name;
    line.place = place;
    const Clients clients = clients_of(kernel_, place, name);
    if (place.node_port) line.addresses = addresses(kernel_.arriving);
    if (!clients.any()) {
      line.targets = without_rules(clients_of(written_, place, name), place.protocol);
      answer_.add(std::move(line));
      return;
    }
    if (clients.rejects && !clients.redirects()) {
      // Whichever addresses serve node ports, as in iptables mode.
      if (place.node_port) line.addresses = {true};
      line.otherwise = inspection::rejected(firewall_remarks());
      answer_.add(std::move(line));
      return;
    }
    const std::vector<abi::Prefix> ranges = source_ranges(clients, name);
    const bool restricted = clients.drops_others || !ranges.empty();
    const bool no_local = clients.drops_without_local || (clients.drops_others && clients.passes_node);
    Remarks remarks;
    need_jumps(place, remarks);
    fill(place, clients, no_local, restricted, line, remarks);
    if (clients.drops_without_local || (restricted && no_local)) line.otherwise = inspection::dropped(firewall_remarks());
    if (restricted) line.only_for = only_for(clients, ranges, line, place);
    line.remarks = std::move(remarks);
    answer_.add(std::move(line));
  }

  // For a frontend whose rules are missing in the kernel.
  inspection::Targets without_rules(const Clients& written, abi::Protocol protocol) const {
    Remarks remarks{"no portal rule"};
    for (const auto* const redirects : {&written.to_local, &written.to_cluster, &written.sent}) {
      for (const DecodedRedirect* const redirect : *redirects) {
        const ServiceTable::BoundListener* const at = listener_at(*redirect, protocol);
        if (at != nullptr)
          add(remarks,
              "proxy port " + std::to_string(at->port) + (table_.listens(*at) ? " listens" : " does not listen"));
      }
    }
    return inspection::nowhere(std::move(remarks));
  }

  void fill(const Place& place, const Clients& clients, bool no_local, bool restricted, ServiceLine& line,
            Remarks& remarks) const {
    const DecodedRedirect* const local = first(clients.to_local);
    const DecodedRedirect* cluster = first(clients.to_cluster);
    const bool node_to_cluster = !clients.sent.empty() && !clients.sent.front()->listener.local;
    const bool has_sent = !clients.sent.empty();
    const bool has_arriving = local != nullptr || cluster != nullptr;
    if (cluster == nullptr && node_to_cluster) cluster = clients.sent.front();
    if (local != nullptr || no_local) {
      if (local != nullptr) line.targets = targets(*local, place.protocol, line);
      if (cluster != nullptr) {
        Remarks inside;
        if (!node_to_cluster) add(inside, "not for processes of this node");
        const bool pods = !clients.to_cluster.empty() || facts_.from_pods.empty() || restricted;
        if (!pods) add(inside, "not for pods of this node");
        line.from_node = targets(*cluster, place.protocol, line);
        for (std::string& remark : inside) add(line.from_node.remarks, std::move(remark));
      } else if (local != nullptr && !has_sent) {
        add(remarks, "not for processes of this node");
      }
    } else {
      const DecodedRedirect* const redirect = cluster != nullptr ? cluster : first(clients.sent);
      if (redirect == nullptr) {
        line.targets = inspection::nowhere({});
      } else {
        line.targets = targets(*redirect, place.protocol, line);
        const bool external =
            place.node_port || !table_.is_cluster_ip({line.service_port, place.protocol}, place.address);
        line.masqueraded = external && !line.targets.list.empty();
      }
      if (redirect != nullptr && !has_sent) add(remarks, "not for processes of this node");
      if (redirect != nullptr && !has_arriving) add(remarks, "not for clients that arrive from elsewhere");
    }
    if (place.node_port) need_accepted(clients, place.protocol, remarks);
  }

  static const DecodedRedirect* first(const std::vector<const DecodedRedirect*>& redirects) {
    return redirects.empty() ? nullptr : redirects.front();
  }

  const ServiceTable::BoundListener* listener_at(const DecodedRedirect& redirect, abi::Protocol protocol) const {
    const auto found = listeners_.find({protocol, redirect.proxy_port});
    return found == listeners_.end() ? nullptr : &found->second;
  }

  // The endpoints behind the proxy port.
  inspection::Targets targets(const DecodedRedirect& redirect, abi::Protocol protocol, ServiceLine& line) const {
    const std::string port = "proxy port " + std::to_string(redirect.proxy_port);
    const ServiceTable::BoundListener* const at = listener_at(redirect, protocol);
    if (at == nullptr) return inspection::nowhere({port + " is not open"});
    inspection::Targets found;
    Remarks& remarks = found.remarks;
    const Listener& listener = *at->listener;
    if (listener.name() != redirect.listener.name) add(remarks, port + " belongs to " + listener.name());
    if (!table_.listens(*at)) add(remarks, port + " does not listen");
    for (const SocketAddress& target : at->listener->balancer().targets()) {
      found.list.push_back({target.address(), target.port()});
    }
    if (found.list.empty()) {
      add(remarks, port + " has no endpoints");
      found.instead = inspection::kNowhere;
      return found;
    }
    line.sticky_seconds = std::max(line.sticky_seconds, at->listener->balancer().affinity_seconds());
    return found;
  }

  inspection::NodePortAddresses addresses(const DecodedPortals::NodePorts& ports) const {
    inspection::NodePortAddresses all{ports.everywhere};
    if (all.every) return all;
    for (const abi::Address& address : ports.addresses) all.add(address, facts_.family);
    return all;
  }

  std::string addresses_text(const DecodedPortals::NodePorts& ports) const {
    ServiceLine line;
    line.place.node_port = true;
    line.addresses = addresses(ports);
    return sdk::node_port_addresses_text(inspection::Row(line, facts_.family).get(), facts_.family);
  }

  void need_jump(Table table, std::string_view from, std::string_view to, Remarks& remarks) const {
    if (!kernel_.has_jump(table, from, to)) add(remarks, std::string(from).append(" does not lead to ").append(to));
  }

  void need_jumps(const Place& place, Remarks& remarks) const {
    if (!place.node_port) {
      need_jump(Table::kNat, "PREROUTING", kPortalsContainer, remarks);
      need_jump(Table::kNat, "OUTPUT", kPortalsHost, remarks);
    } else if (const std::string sent = addresses_text(kernel_.sent); sent != addresses_text(kernel_.arriving)) {
      add(remarks, "for processes of this node at " + sent);
    }
  }

  void need_firewall(Remarks& remarks) const {
    for (const std::string_view from : {"INPUT", "FORWARD", "OUTPUT"}) {
      need_jump(Table::kFilter, from, kPortalsFirewall, remarks);
    }
  }

  void need_accepted(const Clients& clients, abi::Protocol protocol, Remarks& remarks) const {
    for (const auto* const redirects : {&clients.to_local, &clients.to_cluster, &clients.sent}) {
      for (const DecodedRedirect* const redirect : *redirects) {
        if (kernel_.accepted.contains({protocol, redirect->proxy_port})) continue;
        add(remarks, "KUBE-NODEPORT-NON-LOCAL does not accept proxy port " + std::to_string(redirect->proxy_port));
      }
    }
  }

  Remarks firewall_remarks() const {
    Remarks remarks;
    need_firewall(remarks);
    return remarks;
  }

  // The source ranges of external clients, unless only pods of this node are redirected.
  std::vector<abi::Prefix> source_ranges(const Clients& clients, const std::string& name) const {
    const bool pods_only = clients.to_local.empty() && (clients.drops_without_local || clients.passes_node);
    const auto& redirects = !clients.to_local.empty() ? clients.to_local
                            : pods_only               ? clients.sent
                                                      : clients.to_cluster;
    std::vector<abi::Prefix> sources;
    for (const DecodedRedirect* const redirect : redirects) {
      if (!redirect->source) return {};
      sources.push_back(*redirect->source);
    }
    const auto balancer = balancers_.find(name);
    const std::vector<abi::Address> own = balancer == balancers_.end() ? std::vector<abi::Address>() : balancer->second;
    return inspection::without_own_addresses(std::move(sources), own, facts_.node_ip, facts_.family);
  }

  inspection::SourceRanges only_for(const Clients& clients, const std::vector<abi::Prefix>& ranges,
                                    const ServiceLine& line, const Place& place) const {
    inspection::SourceRanges made{true, ranges, "all sources"};
    Remarks& remarks = made.remarks;
    if (!clients.drops_others) add(remarks, "KUBE-PORTALS-FIREWALL does not drop other sources");
    need_firewall(remarks);
    for (const auto* const redirects : {&clients.to_local, &clients.to_cluster, &clients.sent}) {
      for (const DecodedRedirect* const redirect : *redirects) {
        if (kernel_.guarded.contains({place.protocol, redirect->proxy_port}) || line.targets.instead == inspection::kNowhere)
          continue;
        add(remarks, "proxy port " + std::to_string(redirect->proxy_port) + " is open to other sources");
      }
    }
    return made;
  }

  const DecodedPortals& kernel_;
  const DecodedPortals& written_;
  const ServiceTable& table_;
  const PortalFacts& facts_;
  inspection::Answer& answer_;
  std::map<DecodedPortals::Port, ServiceTable::BoundListener> listeners_;
  // Addresses whose clients are limited to source ranges, by service port.
  std::map<std::string, std::vector<abi::Address>> balancers_;
};

}  // namespace

void inspect(PortalWriter& writer, const ServiceTable& table, const PortalFacts& facts, inspection::Answer& answer) {
  DecodedPortals kernel(facts.family);
  writer.read(kernel);
  DecodedPortals written(facts.family);
  writer.each_written([&](Table netfilter_table, std::string_view chain, std::string_view rule) {
    written.add(netfilter_table, chain, rule);
  });
  Decoder(kernel, written, table, facts, answer).write();
}

}  // namespace sluice::userspace
