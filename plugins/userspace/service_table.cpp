// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/service_table.hpp"

#include <algorithm>
#include <random>
#include <system_error>
#include <utility>

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

}  // namespace

PortalId portal_id(const abi::ServicePortKey& key) { return {sdk::service_port_name(key), key.protocol}; }

ServiceTable::ServiceTable(abi::Family family, const Settings& settings, Engine& engine, MetricsReporter& metrics,
                           KeptSockets& kept, std::shared_ptr<RelayedCount> relayed,
                           std::shared_ptr<const RelayMark> mark, Takeover takeover)
    : family_(family),
      settings_(settings),
      engine_(engine),
      metrics_(metrics),
      kept_(kept),
      relayed_(std::move(relayed)),
      mark_(std::move(mark)),
      takeover_(takeover),
      opener_(family, settings.listen_address, settings.proxy_ports, engine.udp_sockets(), random_seed(), &kept,
              takeover),
      claims_(family, &kept, takeover == Takeover::kBesidePredecessor),
      seed_(random_seed()) {}

ServiceTable::~ServiceTable() {
  leave_queues();
  engine_.stop(take_open(abi::Protocol::kUdp), Engine::Ending::kShared);
  for (const abi::Protocol protocol : {abi::Protocol::kTcp, abi::Protocol::kUdp}) {
    for (const FacePtr& face : faces(protocol)) metrics_.remove(face);
  }
  reset_connections();
}

void ServiceTable::begin(bool full) {
  ++round_;
  opener_.search_again();
  if (!full || takeover_ != Takeover::kBesidePredecessor) return;
  for (auto& [id, entry] : entries_) {
    for (OpenFace* face : {&entry.cluster, &entry.local}) {
      if (face->earlier != 0 && is_free_udp_port(family_, face->earlier)) face->earlier = 0;
    }
  }
}

std::string ServiceTable::update(const abi::ServicePort& port, const ClaimFacts& facts) {
  const PortalId id = portal_id(port.key);
  const auto [found, is_new] = entries_.try_emplace(id);
  Entry& entry = found->second;
  entry.seen = round_;

  ProxyPorts preferred;
  if (const auto hint = preferred_.find(id); hint != preferred_.end()) {
    preferred = hint->second;
    preferred_.erase(hint);
  }
  const FaceNeeds needs = faces_of(port);
  std::string problem = bring(entry.cluster, FaceKind::kCluster, needs.cluster, port, preferred.cluster);
  std::string local = bring(entry.local, FaceKind::kLocal, needs.local, port, preferred.local);
  if (problem.empty()) problem = std::move(local);

  std::vector<ClaimedAddress> wanted;
  for (const abi::Frontend& frontend : sdk::frontends(port)) {
    const auto claims = claims_of(frontend, port.key.protocol, facts);
    wanted.insert(wanted.end(), claims.begin(), claims.end());
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  claims_.want(id.first, entry.claims, wanted);
  entry.claims = std::move(wanted);
  note_addresses(entry, port);
  return problem;
}

// Empty, or why the face could not be opened.
std::string ServiceTable::bring(OpenFace& to, FaceKind kind, bool needed, const abi::ServicePort& port,
                                std::uint16_t preferred) {
  if (!needed) {
    give_up(to);
    return {};
  }
  FacePtr face = to.face;
  const bool is_new = face == nullptr;
  if (is_new) {
    face = std::make_shared<Face>(sdk::service_port_name(port.key), port.key.protocol, family_, kind,
                                  settings_.balancer, ++seed_, relayed_, mark_);
  }
  face->set_tells_client(port.key.protocol == abi::Protocol::kTcp &&
                         settings_.uses_proxy_protocol(sdk::text(port.key.service_namespace),
                                                       sdk::text(port.key.service_name),
                                                       sdk::text(port.key.port_name)));
  face->balancer().set_affinity(port.affinity_seconds);
  std::vector<SocketAddress> targets;
  const abi::EndpointFlag list = kind == FaceKind::kLocal ? abi::kEndpointInLocal : abi::kEndpointInCluster;
  for (const abi::Endpoint& endpoint : sdk::endpoints(port)) {
    if (sdk::has(endpoint, list)) targets.emplace_back(family_, endpoint.address, endpoint.port);
  }
  Balancer::Change change = face->balancer().set_endpoints(targets);
  if (!is_new) {
    if (!change.gone.empty()) engine_.endpoints_gone(face, std::move(change.gone));
    return {};
  }
  // With its endpoints, and those bound to them: nobody meets a face without.
  if (const auto bound = bindings_.find(portal_id(port.key)); bound != bindings_.end()) {
    face->balancer().bind(bound->second, EventLoop::clock());
  }
  try {
    open(to, std::move(face), preferred);
  } catch (const sdk::Failure& failure) {
    return failure.what();
  } catch (const std::system_error& error) {
    return std::string("serve a proxy port: ") + error.what();
  }
  return {};
}

void ServiceTable::open(OpenFace& to, FacePtr face, std::uint16_t preferred) {
  ProxySockets opened = opener_.open(face->protocol(), preferred, {face->name(), face->kind() == FaceKind::kLocal});
  to.serving = engine_.serve(std::move(opened.sockets), face);
  to.port = opened.port;
  const bool beside = takeover_ == Takeover::kBesidePredecessor && face->protocol() == abi::Protocol::kUdp;
  to.earlier = beside && preferred != opened.port ? preferred : 0;
  to.names = std::move(opened.names);
  metrics_.add(face);
  to.face = std::move(face);
}

void ServiceTable::give_up(OpenFace& face) {
  if (face.face != nullptr) closing_.push_back(std::exchange(face, {}));
}

void ServiceTable::forget(Entry& entry, const PortalId& id) {
  give_up(entry.cluster);
  give_up(entry.local);
  claims_.want(id.first, entry.claims, {});
  note_addresses(entry, {});
}

void ServiceTable::remove(const PortalId& id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  forget(found->second, id);
  entries_.erase(found);
}

std::vector<PortalId> ServiceTable::remove_others() {
  std::vector<PortalId> gone;
  for (auto& [id, entry] : entries_) {
    if (entry.seen != round_) gone.push_back(id);
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
  const FaceNeeds needs = faces_of(port);
  const ProxyPorts open = ports(portal_id(port.key));
  return (!needs.cluster || open.cluster != 0) && (!needs.local || open.local != 0);
}

Portal ServiceTable::plan(const PortalFacts& facts, const ClaimFacts& claims, const abi::ServicePort& port) {
  const PortalId id = portal_id(port.key);
  std::vector<std::size_t> withheld;
  std::size_t index = 0;
  for (const abi::Frontend& frontend : sdk::frontends(port)) {
    const std::vector<ClaimedAddress> wanted = claims_of(frontend, port.key.protocol, claims);
    const bool refused = std::any_of(wanted.begin(), wanted.end(), [&](const ClaimedAddress& what) {
      return !claims_.refusal(what, id.first).empty();
    });
    if (refused) withheld.push_back(index);
    ++index;
  }
  Entry& entry = entries_.at(id);
  Portal portal = plan_portal(facts, port, ports(id), withheld, {entry.cluster.earlier, entry.local.earlier});
  if (withheld.empty()) {
    entry.kept = nullptr;
  } else {
    entry.kept = std::make_unique<KeptServicePort>(port);
  }
  return portal;
}

std::string ServiceTable::conflicts(const PortalId& id) const {
  std::string all;
  for (const ClaimedAddress& what : entries_.at(id).claims) {
    const std::string why = claims_.refusal(what, id.first);
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
  for (const OpenFace& face : closing_) {
    metrics_.remove(face.face);
    drop_names(face);
    ids.push_back(face.serving);
  }
  engine_.stop(ids, Engine::Ending::kServiceGone);
  closing_.clear();
  claims_.release_unwanted();
  if (full) keep_all();
}

void ServiceTable::keep_all() {
  if (!kept_.any()) return;
  std::set<std::string> names;
  each_open([&](const PortalId&, OpenFace& face, bool) {
    const std::vector<int> descriptors = engine_.descriptors(face.serving);
    for (std::size_t i = 0; i < std::min(descriptors.size(), face.names.size()); ++i) {
      kept_.keep(face.names[i], descriptors[i]);
      names.insert(face.names[i]);
    }
  });
  claims_.keep_all(names);
  kept_.drop_others(names);
}

void ServiceTable::drop_names(const OpenFace& face) {
  if (face.names.empty() || face.serving == 0) return;
  const std::vector<int> descriptors = engine_.descriptors(face.serving);
  for (std::size_t i = 0; i < std::min(descriptors.size(), face.names.size()); ++i) {
    kept_.drop(face.names[i], descriptors[i]);
  }
}

void ServiceTable::each_open(const std::function<void(const PortalId&, OpenFace&, bool local)>& visit) {
  for (auto& [id, entry] : entries_) {
    if (entry.cluster.serving != 0) visit(id, entry.cluster, false);
    if (entry.local.serving != 0) visit(id, entry.local, true);
  }
  for (OpenFace& face : closing_) {
    if (face.serving != 0)
      visit({face.face->name(), face.face->protocol()}, face, face.face->kind() == FaceKind::kLocal);
  }
}

void ServiceTable::leave(const std::map<PortalId, ProxyPorts>& led) {
  std::vector<ServingId> tcp;
  std::vector<ServingId> udp;
  each_open([&](const PortalId& id, OpenFace& face, bool local) {
    const auto found = led.find(id);
    if (found == led.end() || (local ? found->second.local : found->second.cluster) != face.port) return;
    // Whoever took them keeps them from now on.
    face.names.clear();
    if (id.second == abi::Protocol::kUdp) {
      udp.push_back(face.serving);
    } else {
      tcp.push_back(std::exchange(face.serving, 0));
    }
  });
  engine_.stop(tcp, Engine::Ending::kShared);
  if (!udp.empty()) engine_.mute(udp);
}

std::vector<ServingId> ServiceTable::take_open(abi::Protocol protocol) {
  std::vector<ServingId> ids;
  each_open([&](const PortalId& id, OpenFace& face, bool) {
    if (id.second == protocol) ids.push_back(std::exchange(face.serving, 0));
  });
  return ids;
}

bool ServiceTable::is_open(abi::Protocol protocol) {
  bool found = false;
  each_open([&](const PortalId& id, OpenFace&, bool) { found = found || id.second == protocol; });
  return found;
}

std::set<PortalId> ServiceTable::open(abi::Protocol protocol) {
  std::set<PortalId> found;
  each_open([&](const PortalId& id, OpenFace&, bool) {
    if (id.second == protocol) found.insert(id);
  });
  return found;
}

void ServiceTable::close(abi::Protocol protocol, bool kept) {
  each_open([&](const PortalId& id, OpenFace& face, bool) {
    if (id.second == protocol && !kept) drop_names(face);
  });
  engine_.stop(take_open(protocol), Engine::Ending::kRetired);
  for (const FacePtr& face : faces(protocol)) metrics_.remove(face);
}

void ServiceTable::leave_queues() { engine_.stop(take_open(abi::Protocol::kTcp), Engine::Ending::kShared); }

std::vector<FacePtr> ServiceTable::faces(abi::Protocol protocol) const {
  std::vector<FacePtr> all;
  const auto add = [&](const OpenFace& face) {
    if (face.face != nullptr && face.face->protocol() == protocol) all.push_back(face.face);
  };
  for (const auto& [id, entry] : entries_) {
    add(entry.cluster);
    add(entry.local);
  }
  for (const OpenFace& face : closing_) add(face);
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
  for (const OpenFace* face : {&found->second.cluster, &found->second.local}) {
    if (face->face != nullptr) face->face->balancer().bind(bindings, now);
  }
}

void ServiceTable::each_binding(const std::function<void(const PortalId&, const Balancer::Binding&)>& visit) const {
  const Nanoseconds now = EventLoop::clock();
  for (const auto& [id, entry] : entries_) {
    std::map<abi::Address, Balancer::Binding> bound;
    for (const OpenFace* face : {&entry.cluster, &entry.local}) {
      if (face->face == nullptr) continue;
      for (const Balancer::Binding& binding : face->face->balancer().bindings(now)) {
        // Who is bound in both lists is bound as he was last.
        const auto [at, is_new] = bound.try_emplace(binding.client, binding);
        if (!is_new && at->second.remaining < binding.remaining) at->second = binding;
      }
    }
    for (const auto& [client, binding] : bound) visit(id, binding);
  }
}

std::vector<ServiceTable::FaceAt> ServiceTable::faces_at() const {
  std::vector<FaceAt> all;
  for (const auto& [id, entry] : entries_) {
    for (const OpenFace* face : {&entry.cluster, &entry.local}) {
      if (face->face != nullptr) all.push_back({face->face.get(), face->port, face->serving});
    }
  }
  return all;
}

bool ServiceTable::listens(const FaceAt& at) const {
  if (at.serving == 0) return false;
  const std::vector<int> sockets = engine_.descriptors(at.serving);
  const SocketNeeds needs{family_, at.face->protocol(), std::nullopt, at.port,
                          at.face->protocol() == abi::Protocol::kTcp};
  return !sockets.empty() &&
         std::all_of(sockets.begin(), sockets.end(), [&](int fd) { return unfit(fd, needs).empty(); });
}

bool ServiceTable::is_cluster_ip(const PortalId& id, const abi::Address& address) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && found->second.cluster_ip == address;
}

void ServiceTable::purge_affinity() {
  const Nanoseconds now = EventLoop::clock();
  for (auto& [id, entry] : entries_) {
    for (const OpenFace* face : {&entry.cluster, &entry.local}) {
      if (face->face != nullptr) face->face->balancer().purge(now);
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
