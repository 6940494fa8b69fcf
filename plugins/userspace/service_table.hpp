// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The service ports of one family: the listeners of each, their proxy ports, and the claimed ports of
// the node. Apply thread only.
//
// A change has two phases. update() and settle_claims() open listeners, set their endpoints and claim
// ports, so that rules may redirect there. finish() closes listeners to which no rule redirects any more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/common/address_hash.hpp"
#include "plugins/userspace/balancer/affinity_file.hpp"
#include "plugins/userspace/claim_arbiter.hpp"
#include "plugins/userspace/kept_service_port.hpp"
#include "plugins/userspace/metrics_reporter.hpp"
#include "plugins/userspace/portal/kept_sockets.hpp"
#include "plugins/userspace/portal/portal_plan.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"
#include "plugins/userspace/portal/proxy_ports.hpp"
#include "plugins/userspace/relay/engine.hpp"
#include "plugins/userspace/settings.hpp"

namespace sluice::userspace {

// Facts of the node that decide which of its ports a service port claims.
struct ClaimFacts {
  bool node_ports_match_all = true;
  std::vector<abi::Address> node_port_addresses;
  std::set<abi::Address> local_addresses;
};

class ServiceTable {
 public:
  // All references outlive this object. `relayed` counts connections and flows; `mark` is the packet mark of sockets to
  // endpoints; `policy` decides which address of a client these show.
  ServiceTable(abi::Family family, const Settings& settings, Engine& engine, MetricsReporter& metrics,
               KeptSockets& kept, std::shared_ptr<RelayedCount> relayed, std::shared_ptr<const RelayMark> mark,
               std::shared_ptr<const ClientPolicy> policy, Takeover takeover);
  // Resets established connections. Kept sockets stay open in the daemon, with the connections in their accept queues.
  ~ServiceTable();
  ServiceTable(const ServiceTable&) = delete;
  ServiceTable& operator=(const ServiceTable&) = delete;

  // Proxy ports to try first when a service port is added; each is used once.
  void prefer(std::map<PortalId, ProxyPorts> ports) { preferred_ = std::move(ports); }
  // Copies session affinity to `file`. `saved`: that of earlier processes, for service ports that are added until
  // discard_preferred().
  void keep_affinity(std::shared_ptr<AffinityFile> file, std::unique_ptr<SavedAffinity> saved) {
    affinity_file_ = std::move(file);
    saved_affinity_ = std::move(saved);
  }
  // Why the affinity of earlier processes was rejected; empty if it was not.
  std::string saved_affinity_problem() const { return saved_affinity_ == nullptr ? "" : saved_affinity_->problem(); }
  bool prefers(const PortalId& id) const { return preferred_.contains(id); }
  // Imports session affinity from another backend, also for a service port that is added later.
  void bind(const PortalId& id, std::vector<Balancer::Binding> bindings);
  // Discards preferred ports and affinity of service ports that were not added.
  void discard_preferred() {
    preferred_.clear();
    bindings_.clear();
    if (saved_affinity_ != nullptr) saved_affinity_->discard();
    saved_affinity_ = nullptr;
  }
  // Visits each client that session affinity binds, once per service port.
  void each_binding(const std::function<void(const PortalId&, const Balancer::Binding&)>& visit) const;

  // Call before the first update() or remove() of a transaction. `full`: also check which UDP ports of the old backend
  // are closed by now.
  void begin(bool full);
  // Applies `port`. Returns an empty string, or why a listener could not be opened; the others serve.
  std::string update(const abi::ServicePort& port, const ClaimFacts& facts);
  void remove(const PortalId& id);
  // Removes all service ports that were not updated since begin(). Returns their ids.
  std::vector<PortalId> remove_stale();

  // Assigns claimed ports to service ports; `all`: also retry ports that another program held. Returns the service
  // ports that received a port they were refused before.
  std::vector<PortalId> settle_claims(bool all);

  // Plans the rules of a service port after update(). `port` is the argument of update(), or kept().
  Portal plan(const PortalFacts& facts, const ClaimFacts& claims, const abi::ServicePort& port);
  // Why addresses of `id` are withheld; empty when none are.
  std::string conflicts(const PortalId& id) const;
  // Null unless one of its claims was refused.
  const KeptServicePort* kept(const PortalId& id) const;
  ProxyPorts ports(const PortalId& id) const;
  // Whether all listeners that it needs are open.
  bool has_ports_for(const abi::ServicePort& port) const;

  // Call after rules were written: closes unused sockets and releases claims. `full`: also keep all open sockets again,
  // and drop all other kept sockets.
  void finish(bool full);

  // During retirement: the new backend shares the sockets of listeners whose port is in `redirected`. Stop accepting
  // and reading there; replies of existing flows are still sent.
  void share_sockets(const std::map<PortalId, ProxyPorts>& redirected);
  // Accepts queued connections, relays queued datagrams, and closes the sockets. TCP connections continue, UDP flows
  // end. `kept`: another backend uses the kept sockets, so their names are not dropped.
  void close(abi::Protocol protocol, bool kept);
  // Whether any socket of the protocol is open.
  bool is_open(abi::Protocol protocol);
  // The service ports with open sockets of the protocol.
  std::set<PortalId> open_ids(abi::Protocol protocol);
  // Resets all relayed connections, including those of service ports that were removed. REQUIRES: close()
  void reset_connections();
  // The destructor does not reset them.
  void continue_connections() { connections_continue_ = true; }
  void release_claims() { claims_.release_all(); }
  // At the end of the process: closes TCP sockets without emptying their accept queues, which the next process serves.
  void leave_accept_queues();

  // Drops expired session affinity.
  void purge_affinity();

  // Whether the address of a frontend is in only one of the two sets: then claims change.
  bool claims_depend_on(const std::set<abi::Address>& before, const std::set<abi::Address>& now) const;

  // A listener and the port its sockets are bound to.
  struct BoundListener {
    Listener* listener;  // valid until a service port changes
    std::uint16_t port;
    ServingId serving;
  };
  std::vector<BoundListener> bound_listeners() const;
  // Why one of its sockets does not receive connections, as a phrase; empty if all are still bound and listening.
  // Queries the kernel for each of them.
  std::string socket_problem(const BoundListener& at) const;
  bool listens(const BoundListener& at) const { return socket_problem(at).empty(); }
  bool contains(const PortalId& id) const { return entries_.contains(id); }
  // Whether `address` is the cluster IP of the service port.
  bool is_cluster_ip(const PortalId& id, const abi::Address& address) const;

  std::size_t size() const noexcept { return entries_.size(); }
  const ClaimArbiter& claims() const noexcept { return claims_; }

 private:
  struct OpenListener {
    ListenerPtr listener;
    ServingId serving = 0;  // 0: its sockets are closed
    std::uint16_t port = 0;
    std::vector<std::string> names{};    // of kept sockets
    std::uint16_t old_backend_port = 0;  // UDP: the old backend may still receive here
    // UDP: endpoints that left the list and still serve. Their flows stay, as they do by connection tracking in kernel
    // modes: an endpoint that terminates, or that policies or hints no longer choose.
    std::vector<EndpointPtr> leaving{};
  };
  struct Entry {
    OpenListener cluster;
    OpenListener local;
    std::vector<ClaimedAddress> claims;     // wanted; sorted, unique
    std::vector<abi::Address> addresses;    // of frontends, without node ports
    std::optional<abi::Address> cluster_ip{};
    std::unique_ptr<KeptServicePort> kept;  // while a claim is refused
    std::uint64_t updated_in_round = 0;
  };
  struct IdHash {
    std::size_t operator()(const PortalId& id) const noexcept {
      return std::hash<std::string_view>()(id.first) * 31 + static_cast<std::size_t>(id.second);
    }
  };
  using Entries = std::unordered_map<PortalId, Entry, IdHash>;

  std::string update_listener(OpenListener& to, ListenerKind kind, bool needed, const abi::ServicePort& port,
                              std::uint16_t preferred);
  static std::vector<EndpointPtr> ended_endpoints(OpenListener& of, const abi::ServicePort& port,
                                                  std::vector<EndpointPtr> gone);
  void open(OpenListener& to, ListenerPtr listener, std::uint16_t preferred);
  void restore_affinity(Listener& listener, std::uint32_t seconds);
  void close_later(OpenListener& listener);
  void keep_all();
  void drop_names(const OpenListener& listener);
  // Visits all open sockets, including those to be closed. `visit` may set `serving` to 0.
  void each_open(const std::function<void(const PortalId&, OpenListener&, bool local)>& visit);
  std::vector<ServingId> take_open(abi::Protocol protocol);
  std::vector<ListenerPtr> listeners(abi::Protocol protocol) const;
  void withdraw(Entry& entry, const PortalId& id);
  void note_addresses(Entry& entry, const abi::ServicePort& port);
  std::vector<ClaimedAddress> claims_of(const abi::Frontend& frontend, abi::Protocol protocol,
                                        const ClaimFacts& facts) const;

  const abi::Family family_;
  const Settings& settings_;
  Engine& engine_;
  MetricsReporter& metrics_;
  KeptSockets& kept_;
  const std::shared_ptr<RelayedCount> relayed_;
  const std::shared_ptr<const RelayMark> mark_;
  const std::shared_ptr<const ClientPolicy> policy_;
  const Takeover takeover_;
  ProxyPortOpener opener_;
  ClaimArbiter claims_;
  Entries entries_;
  std::map<PortalId, ProxyPorts> preferred_;
  std::map<PortalId, std::vector<Balancer::Binding>> bindings_;
  std::shared_ptr<AffinityFile> affinity_file_;
  std::unique_ptr<SavedAffinity> saved_affinity_;
  std::vector<OpenListener> closing_;
  std::unordered_map<abi::Address, std::size_t> addresses_;  // of frontends, with reference counts
  std::uint64_t round_ = 0;
  std::uint64_t seed_;
  bool connections_continue_ = false;
};

// The printed name and the protocol.
PortalId portal_id(const abi::ServicePortKey& key);

}  // namespace sluice::userspace
