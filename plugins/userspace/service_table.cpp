// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/service_table.hpp"

#include <algorithm>
#include <random>
#include <system_error>
#include <utility>

#include "lib/text.hpp"
#include "plugins/userspace/relay/event_loop.hpp"
#include "plugins/userspace/socket_address.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::userspace {
namespace {

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::uint64_t list_of(const Listener& listener) {
  return affinity_list(listener.name(), listener.protocol(), listener.kind() == ListenerKind::kLocal);
}

}  // namespace

PortalId portal_id(const abi::ServicePortKey& key) { return {sdk::service_port_name(key), key.protocol}; }

ServiceTable::ServiceTable(abi::Family family, const Settings& settings, Engine& engine, MetricsReporter& metrics,
                           KeptSockets& kept, std::shared_ptr<RelayedCount> relayed,
                           std::shared_ptr<const RelayMark> mark, std::shared_ptr<const ClientPolicy> policy,
                           Takeover takeover)
    : family_(family),
      settings_(settings),
      engine_(engine),
      metrics_(metrics),
      kept_(kept),
      relayed_(std::move(relayed)),
      mark_(std::move(mark)),
      policy_(std::move(policy)),
      takeover_(takeover),
      opener_(family, settings.listen_address, settings.proxy_ports, engine.udp_sockets(), random_seed(), &kept,
              takeover),
      claims_(family, &kept, takeover == Takeover::kBesideOldBackend),
      seed_(random_seed()) {}

ServiceTable::~ServiceTable() {
  leave_accept_queues();
  engine_.stop(take_open(abi::Protocol::kUdp), Engine::Ending::kShared);
  for (const abi::Protocol protocol : {abi::Protocol::kTcp, abi::Protocol::kUdp}) {
    for (const ListenerPtr& listener : listeners(protocol)) metrics_.remove(listener);
  }
  if (!connections_continue_) reset_connections();
}

void ServiceTable::begin(bool full) {
  ++round_;
  opener_.search_again();
  if (!full || takeover_ != Takeover::kBesideOldBackend) return;
  for (auto& [id, entry] : entries_) {
    for (OpenListener* opened : {&entry.cluster, &entry.local}) {
      if (opened->old_backend_port != 0 && is_free_udp_port(family_, opened->old_backend_port))
        opened->old_backend_port = 0;
    }
  }
}

std::string ServiceTable::update(const abi::ServicePort& port, const ClaimFacts& facts) {
  const PortalId id = portal_id(port.key);
  const auto [found, is_new] = entries_.try_emplace(id);
  Entry& entry = found->second;
  entry.updated_in_round = round_;

  ProxyPorts preferred;
  if (const auto hint = preferred_.find(id); hint != preferred_.end()) {
    preferred = hint->second;
    preferred_.erase(hint);
  }
  NeededListeners needs = needed_listeners(port);
  // Tracked UDP flows still lead to the listener. While the endpoints are on other nodes their datagrams are to be
  // dropped, but a closed port would refuse them.
  needs.local = needs.local || (entry.local.listener != nullptr && port.key.protocol == abi::Protocol::kUdp &&
                                sdk::has(port, abi::kUsesLocalEndpoints) && sdk::has(port, abi::kHasAnyEndpoint));
  std::string problem = update_listener(entry.cluster, ListenerKind::kCluster, needs.cluster, port, preferred.cluster);
  std::string local = update_listener(entry.local, ListenerKind::kLocal, needs.local, port, preferred.local);
  if (problem.empty()) problem = std::move(local);

  std::vector<ClaimedAddress> wanted;
  for (const abi::Frontend& frontend : sdk::frontends(port)) {
    const auto claims = claims_of(frontend, port.key.protocol, facts);
    wanted.insert(wanted.end(), claims.begin(), claims.end());
  }
  lib::sort_unique(wanted);
  claims_.set_wanted(id.first, entry.claims, wanted);
  entry.claims = std::move(wanted);
  note_addresses(entry, port);
  return problem;
}

// Empty, or why the listener could not be opened.
std::string ServiceTable::update_listener(OpenListener& to, ListenerKind kind, bool needed,
                                          const abi::ServicePort& port, std::uint16_t preferred) {
  if (!needed) {
    close_later(to);
    return {};
  }
  ListenerPtr listener = to.listener;
  const bool is_new = listener == nullptr;
  if (is_new) {
    listener = std::make_shared<Listener>(sdk::service_port_name(port.key), port.key.protocol, family_, kind,
                                          settings_.balancer, ++seed_, relayed_, mark_, policy_);
    listener->balancer().keep_affinity(affinity_file_, list_of(*listener));
  }
  listener->set_sends_proxy_header(port.key.protocol == abi::Protocol::kTcp &&
                                   settings_.uses_proxy_protocol(sdk::text(port.key.service_namespace),
                                                                 sdk::text(port.key.service_name),
                                                                 sdk::text(port.key.port_name)));
  listener->set_frontends(client_frontends(port));
  listener->balancer().set_affinity(port.affinity_seconds);
  std::vector<SocketAddress> targets;
  const abi::EndpointFlag list = kind == ListenerKind::kLocal ? abi::kEndpointInLocal : abi::kEndpointInCluster;
  for (const abi::Endpoint& endpoint : sdk::endpoints(port)) {
    if (sdk::has(endpoint, list)) targets.emplace_back(family_, endpoint.address, endpoint.port);
  }
  Balancer::Change change = listener->balancer().set_endpoints(targets);
  if (!is_new) {
    engine_.endpoints_gone(listener, ended_endpoints(to, port, std::move(change.gone)));
    return {};
  }
  // Endpoints and session affinity are set before the listener accepts its first client.
  restore_affinity(*listener, port.affinity_seconds);
  if (const auto bound = bindings_.find(portal_id(port.key)); bound != bindings_.end()) {
    listener->balancer().bind(bound->second, EventLoop::clock());
  }
  try {
    open(to, std::move(listener), preferred);
  } catch (const sdk::Failure& failure) {
    return failure.what();
  } catch (const std::system_error& error) {
    return std::string("serve a proxy port: ") + error.what();
  }
  return {};
}

// Binds the clients that earlier processes left. The time while no process ran counts.
void ServiceTable::restore_affinity(Listener& listener, std::uint32_t seconds) {
  if (saved_affinity_ == nullptr || seconds == 0) return;
  const Nanoseconds now = EventLoop::clock();
  const Nanoseconds timeout = Nanoseconds{seconds} * 1'000'000'000;
  std::vector<Balancer::Binding> bindings;
  for (const SavedAffinity::Client& saved : saved_affinity_->clients(list_of(listener))) {
    const Nanoseconds age = now - saved.used;
    if (age >= timeout) continue;
    bindings.push_back({saved.client, saved.endpoint, saved.port, std::chrono::nanoseconds(timeout - age)});
  }
  listener.balancer().bind(std::move(bindings), now);
}

// Of the endpoints that have left the list, those whose clients must leave now.
std::vector<EndpointPtr> ServiceTable::ended_endpoints(OpenListener& of, const abi::ServicePort& port,
                                                       std::vector<EndpointPtr> gone) {
  if (port.key.protocol != abi::Protocol::kUdp) return gone;
  of.leaving.insert(of.leaving.end(), gone.begin(), gone.end());
  gone.clear();
  std::erase_if(of.leaving, [&](const EndpointPtr& left) {
    const auto endpoints = sdk::endpoints(port);
    const bool serves = std::any_of(endpoints.begin(), endpoints.end(), [&](const abi::Endpoint& one) {
      return sdk::has(one, abi::kEndpointServing) && one.port == left->target().port() &&
             one.address == left->target().address();
    });
    if (!serves) gone.push_back(left);
    return !serves || left.use_count() == 1;  // 1: it has no flow, and will not get one
  });
  return gone;
}

void ServiceTable::open(OpenListener& to, ListenerPtr listener, std::uint16_t preferred) {
  ProxySockets opened =
      opener_.open(listener->protocol(), preferred, {listener->name(), listener->kind() == ListenerKind::kLocal});
  to.serving = engine_.serve(std::move(opened.sockets), listener);
  to.port = opened.port;
  const bool beside = takeover_ == Takeover::kBesideOldBackend && listener->protocol() == abi::Protocol::kUdp;
  to.old_backend_port = beside && preferred != opened.port ? preferred : 0;
  to.names = std::move(opened.names);
  metrics_.add(listener);
  to.listener = std::move(listener);
}

void ServiceTable::close_later(OpenListener& opened) {
  if (opened.listener != nullptr) closing_.push_back(std::exchange(opened, {}));
}

void ServiceTable::withdraw(Entry& entry, const PortalId& id) {
  close_later(entry.cluster);
  close_later(entry.local);
  claims_.set_wanted(id.first, entry.claims, {});
  note_addresses(entry, {});
}

void ServiceTable::remove(const PortalId& id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  withdraw(found->second, id);
  entries_.erase(found);
}

std::vector<PortalId> ServiceTable::remove_stale() {
  std::vector<PortalId> gone;
  for (auto& [id, entry] : entries_) {
    if (entry.updated_in_round != round_) gone.push_back(id);
  }
  for (const PortalId& id : gone) remove(id);
  return gone;
}

std::vector<PortalId> ServiceTable::settle_claims(bool all) {
  std::vector<PortalId> gained;
  for (const std::string& name : claims_.settle(all)) {
    // The same name may be two service ports, one of each protocol.
    for (const abi::Protocol protocol : {abi::Protocol::kTcp, abi::Protocol::kUdp}) {
      if (kept({name, protocol}) != nullptr) gained.emplace_back(name, protocol);
    }
  }
  return gained;
}

bool ServiceTable::has_ports_for(const abi::ServicePort& port) const {
  const NeededListeners needs = needed_listeners(port);
  const ProxyPorts open = ports(portal_id(port.key));
  return (!needs.cluster || open.cluster != 0) && (!needs.local || open.local != 0);
}

Portal ServiceTable::plan(const PortalFacts& facts, const ClaimFacts& claims, const abi::ServicePort& port) {
  const PortalId id = portal_id(port.key);
  std::vector<std::size_t> withheld;
  std::size_t index = 0;
  for (const abi::Frontend& frontend : sdk::frontends(port)) {
    const std::vector<ClaimedAddress> wanted = claims_of(frontend, port.key.protocol, claims);
    const bool refused = std::any_of(wanted.begin(), wanted.end(), [&](const ClaimedAddress& claimed) {
      return !claims_.refusal(claimed, id.first).empty();
    });
    if (refused) withheld.push_back(index);
    ++index;
  }
  Entry& entry = entries_.at(id);
  Portal portal =
      plan_portal(facts, port, ports(id), withheld, {entry.cluster.old_backend_port, entry.local.old_backend_port});
  if (withheld.empty()) {
    entry.kept = nullptr;
  } else {
    entry.kept = std::make_unique<KeptServicePort>(port);
  }
  return portal;
}

std::string ServiceTable::conflicts(const PortalId& id) const {
  std::string all;
  for (const ClaimedAddress& claimed : entries_.at(id).claims) {
    const std::string why = claims_.refusal(claimed, id.first);
    if (!why.empty()) all.append(all.empty() ? "" : "; ").append(why);
  }
  return all;
}

const KeptServicePort* ServiceTable::kept(const PortalId& id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.kept.get();
}

ProxyPorts ServiceTable::ports(const PortalId& id) const {
  const Entry& entry = entries_.at(id);
  return {entry.cluster.port, entry.local.port};
}

void ServiceTable::finish(bool full) {
  std::vector<ServingId> ids;
  for (const OpenListener& opened : closing_) {
    metrics_.remove(opened.listener);
    drop_names(opened);
    ids.push_back(opened.serving);
  }
  engine_.stop(ids, Engine::Ending::kServiceGone);
  closing_.clear();
  claims_.release_unwanted();
  if (full) keep_all();
}

void ServiceTable::keep_all() {
  if (!kept_.any()) return;
  std::set<std::string> names;
  each_open([&](const PortalId&, OpenListener& opened, bool) {
    const std::vector<int> descriptors = engine_.descriptors(opened.serving);
    for (std::size_t i = 0; i < std::min(descriptors.size(), opened.names.size()); ++i) {
      kept_.keep(opened.names[i], descriptors[i]);
      names.insert(opened.names[i]);
    }
  });
  claims_.keep_all(names);
  kept_.drop_all_except(names);
}

void ServiceTable::drop_names(const OpenListener& opened) {
  if (opened.names.empty() || opened.serving == 0) return;
  const std::vector<int> descriptors = engine_.descriptors(opened.serving);
  for (std::size_t i = 0; i < std::min(descriptors.size(), opened.names.size()); ++i) {
    kept_.drop(opened.names[i], descriptors[i]);
  }
}

void ServiceTable::each_open(const std::function<void(const PortalId&, OpenListener&, bool local)>& visit) {
  for (auto& [id, entry] : entries_) {
    if (entry.cluster.serving != 0) visit(id, entry.cluster, false);
    if (entry.local.serving != 0) visit(id, entry.local, true);
  }
  for (OpenListener& opened : closing_) {
    if (opened.serving != 0)
      visit({opened.listener->name(), opened.listener->protocol()}, opened,
            opened.listener->kind() == ListenerKind::kLocal);
  }
}

void ServiceTable::share_sockets(const std::map<PortalId, ProxyPorts>& redirected) {
  std::vector<ServingId> tcp;
  std::vector<ServingId> udp;
  each_open([&](const PortalId& id, OpenListener& opened, bool local) {
    const auto found = redirected.find(id);
    if (found == redirected.end() || (local ? found->second.local : found->second.cluster) != opened.port) return;
    // The new backend keeps these sockets under their names now, so this one must not drop the names.
    opened.names.clear();
    if (id.second == abi::Protocol::kUdp) {
      udp.push_back(opened.serving);
    } else {
      tcp.push_back(std::exchange(opened.serving, 0));
    }
  });
  engine_.stop(tcp, Engine::Ending::kShared);
  if (!udp.empty()) engine_.stop_reading(udp);
}

std::vector<ServingId> ServiceTable::take_open(abi::Protocol protocol) {
  std::vector<ServingId> ids;
  each_open([&](const PortalId& id, OpenListener& opened, bool) {
    if (id.second == protocol) ids.push_back(std::exchange(opened.serving, 0));
  });
  return ids;
}

bool ServiceTable::is_open(abi::Protocol protocol) {
  bool found = false;
  each_open([&](const PortalId& id, OpenListener&, bool) { found = found || id.second == protocol; });
  return found;
}

std::set<PortalId> ServiceTable::open_ids(abi::Protocol protocol) {
  std::set<PortalId> found;
  each_open([&](const PortalId& id, OpenListener&, bool) {
    if (id.second == protocol) found.insert(id);
  });
  return found;
}

void ServiceTable::close(abi::Protocol protocol, bool kept) {
  each_open([&](const PortalId& id, OpenListener& opened, bool) {
    if (id.second == protocol && !kept) drop_names(opened);
  });
  engine_.stop(take_open(protocol), Engine::Ending::kRetired);
  for (const ListenerPtr& listener : listeners(protocol)) metrics_.remove(listener);
}

void ServiceTable::leave_accept_queues() { engine_.stop(take_open(abi::Protocol::kTcp), Engine::Ending::kShared); }

std::vector<ListenerPtr> ServiceTable::listeners(abi::Protocol protocol) const {
  std::vector<ListenerPtr> all;
  const auto add = [&](const OpenListener& opened) {
    if (opened.listener != nullptr && opened.listener->protocol() == protocol) all.push_back(opened.listener);
  };
  for (const auto& [id, entry] : entries_) {
    add(entry.cluster);
    add(entry.local);
  }
  for (const OpenListener& opened : closing_) add(opened);
  return all;
}

void ServiceTable::reset_connections() { engine_.reset(*relayed_); }

void ServiceTable::bind(const PortalId& id, std::vector<Balancer::Binding> bindings) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) {
    bindings_[id] = std::move(bindings);
    return;
  }
  const Nanoseconds now = EventLoop::clock();
  for (const OpenListener* opened : {&found->second.cluster, &found->second.local}) {
    if (opened->listener != nullptr) opened->listener->balancer().bind(bindings, now);
  }
}

void ServiceTable::each_binding(const std::function<void(const PortalId&, const Balancer::Binding&)>& visit) const {
  const Nanoseconds now = EventLoop::clock();
  for (const auto& [id, entry] : entries_) {
    std::map<abi::Address, Balancer::Binding> bound;
    for (const OpenListener* opened : {&entry.cluster, &entry.local}) {
      if (opened->listener == nullptr) continue;
      for (const Balancer::Binding& binding : opened->listener->balancer().bindings(now)) {
        // For a client that is bound in both lists, the more recent binding counts.
        const auto [at, is_new] = bound.try_emplace(binding.client, binding);
        if (!is_new && at->second.remaining < binding.remaining) at->second = binding;
      }
    }
    for (const auto& [client, binding] : bound) visit(id, binding);
  }
}

std::vector<ServiceTable::BoundListener> ServiceTable::bound_listeners() const {
  std::vector<BoundListener> all;
  for (const auto& [id, entry] : entries_) {
    for (const OpenListener* opened : {&entry.cluster, &entry.local}) {
      if (opened->listener != nullptr) all.push_back({opened->listener.get(), opened->port, opened->serving});
    }
  }
  return all;
}

std::string ServiceTable::socket_problem(const BoundListener& at) const {
  const std::vector<int> sockets = at.serving == 0 ? std::vector<int>() : engine_.descriptors(at.serving);
  if (sockets.empty()) return "it is closed";
  const SocketNeeds needs{family_, at.listener->protocol(), std::nullopt, at.port,
                          at.listener->protocol() == abi::Protocol::kTcp};
  std::string problem;
  for (const int fd : sockets) {
    if (problem.empty()) problem = unfit_reason(fd, needs);
  }
  return problem;
}

bool ServiceTable::is_cluster_ip(const PortalId& id, const abi::Address& address) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && found->second.cluster_ip == address;
}

void ServiceTable::purge_affinity() {
  const Nanoseconds now = EventLoop::clock();
  for (auto& [id, entry] : entries_) {
    for (const OpenListener* opened : {&entry.cluster, &entry.local}) {
      if (opened->listener != nullptr) opened->listener->balancer().purge(now);
    }
  }
}

bool ServiceTable::claims_depend_on(const std::set<abi::Address>& before, const std::set<abi::Address>& now) const {
  const auto differs = [&](const std::set<abi::Address>& in, const std::set<abi::Address>& other) {
    return std::any_of(in.begin(), in.end(), [&](const abi::Address& address) {
      return !other.contains(address) && addresses_.contains(address);
    });
  };
  return differs(before, now) || differs(now, before);
}

// Counts addresses of frontends, so that a new address of the node can be compared with all of them at once.
void ServiceTable::note_addresses(Entry& entry, const abi::ServicePort& port) {
  for (const abi::Address& address : entry.addresses) {
    const auto counted = addresses_.find(address);
    if (--counted->second == 0) addresses_.erase(counted);
  }
  entry.addresses.clear();
  entry.cluster_ip.reset();
  for (const abi::Frontend& frontend : sdk::frontends(port)) {
    if (frontend.kind == abi::FrontendKind::kNodePort) continue;
    if (frontend.kind == abi::FrontendKind::kClusterIp) entry.cluster_ip = frontend.address;
    entry.addresses.push_back(frontend.address);
    ++addresses_[frontend.address];
  }
}

std::vector<ClaimedAddress> ServiceTable::claims_of(const abi::Frontend& frontend, abi::Protocol protocol,
                                                    const ClaimFacts& facts) const {
  if (frontend.kind != abi::FrontendKind::kNodePort) {
    if (!facts.local_addresses.contains(frontend.address)) return {};
    return {{frontend.address, frontend.port, protocol}};
  }
  if (facts.node_ports_match_all) return {{abi::Address{}, frontend.port, protocol}};
  std::vector<ClaimedAddress> claims;
  for (const abi::Address& address : facts.node_port_addresses) claims.push_back({address, frontend.port, protocol});
  return claims;
}

}  // namespace sluice::userspace
