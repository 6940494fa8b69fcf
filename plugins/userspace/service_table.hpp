// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The service ports of one family as the relays serve them: which faces each has, at which
// ports, which ports of the node it claims. The apply thread only.
//
// A change comes in two halves. First everything that is wanted is opened, told its endpoints and
// served, and claims are settled; rules may lead there then. finish() closes what no rule leads to any more.
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

#include "plugins/userspace/claim_book.hpp"
#include "plugins/userspace/kept_service_port.hpp"
#include "plugins/userspace/metrics_reporter.hpp"
#include "plugins/userspace/portal/kept_sockets.hpp"
#include "plugins/userspace/portal/portal_plan.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"
#include "plugins/userspace/portal/proxy_ports.hpp"
#include "plugins/userspace/relay/engine.hpp"
#include "plugins/userspace/settings.hpp"

namespace sluice::userspace {

// Which addresses of the node a service port may get into the way of others at.
struct ClaimFacts {
  bool node_ports_match_all = true;
  std::vector<abi::Address> node_port_addresses;
  std::set<abi::Address> local_addresses;
};

class ServiceTable {
 public:
  // All outlive this. What is relayed is counted in `relayed`; `mark` is that of sockets towards endpoints.
  ServiceTable(abi::Family family, const Settings& settings, Engine& engine, MetricsReporter& metrics,
               KeptSockets& kept, std::shared_ptr<RelayedCount> relayed, std::shared_ptr<const RelayMark> mark,
               Takeover takeover);
  // Ends what is established. Sockets that are kept wait for who takes them over, with all who have connected.
  ~ServiceTable();
  ServiceTable(const ServiceTable&) = delete;
  ServiceTable& operator=(const ServiceTable&) = delete;

  // Ports that are to be preferred, once, for service ports that come.
  void prefer(std::map<PortalId, ProxyPorts> ports) { preferred_ = std::move(ports); }
  bool prefers(const PortalId& id) const { return preferred_.contains(id); }
  // Session affinity that a client had elsewhere; also for a service port that comes.
  void bind(const PortalId& id, std::vector<Balancer::Binding> bindings);
  // The rest of both are not needed: nobody came.
  void forget_preferred() {
    preferred_.clear();
    bindings_.clear();
  }
  // Clients bound by session affinity, each of a service port once.
  void each_binding(const std::function<void(const PortalId&, const Balancer::Binding&)>& visit) const;

  // Before the first update() or remove() of a transaction. `full`: looks as well which ports of an earlier backend are
  // not read any more.
  void begin(bool full);
  // Brings a service port to `port`. Empty, or why it has not all the faces it needs; those it has serve.
  std::string update(const abi::ServicePort& port, const ClaimFacts& facts);
  void remove(const PortalId& id);
  // All that were not updated since begin(). Returns their ids.
  std::vector<PortalId> remove_others();

  // Gives claims to those who want them; `all`: also what programs of this node had. Returns those who got what they
  // were refused before.
  std::vector<PortalId> settle_claims(bool all);

  // The rules of one that update() has seen, as it is now. `port`: as given to update(), or kept().
  Portal plan(const PortalFacts& facts, const ClaimFacts& claims, const abi::ServicePort& port);
  // Why addresses of `id` are withheld; empty when none are.
  std::string conflicts(const PortalId& id) const;
  // Null unless a claim of it was refused.
  const KeptServicePort* kept(const PortalId& id) const;
  ProxyPorts ports(const PortalId& id) const;
  // Whether all that are to relay for it are open.
  bool has_ports_for(const abi::ServicePort& port) const;

  // After rules lead nowhere else: closes sockets, frees claims. `full`: also makes sure that all sockets are kept, and
  // no others.
  void finish(bool full);

  // For the end, while another backend serves. Of a face that is at one of the ports `led` somebody else has the same
  // sockets: nothing is accepted or read any more, and replies go on.
  void leave(const std::map<PortalId, ProxyPorts>& led);
  // Takes in who has connected and relays the datagrams that wait, and closes the sockets. TCP connections live on, UDP
  // flows end. `kept`: somebody else has them, too; else they are not kept any more.
  void close(abi::Protocol protocol, bool kept);
  // Whether there are sockets of it that are not closed.
  bool is_open(abi::Protocol protocol);
  // The service ports that is_open() means.
  std::set<PortalId> open(abi::Protocol protocol);
  // All that are counted, at once: also of service ports that have gone before. REQUIRES: close()
  void reset_connections();
  void release_claims() { claims_.release_all(); }
  // The process ends: closes TCP sockets as if somebody else had them, so that who has connected waits for him.
  void leave_queues();

  // Forgets clients that were not seen for too long.
  void purge_affinity();

  // Whether an address in `local` is, or was in `before`, that of a frontend: claims may change.
  bool claims_depend_on(const std::set<abi::Address>& before, const std::set<abi::Address>& now) const;

  // A face with the port that its sockets were opened at.
  struct FaceAt {
    Face* face;  // as long as no service port changes
    std::uint16_t port;
    ServingId serving;
  };
  std::vector<FaceAt> faces_at() const;
  // Whether the kernel still has its sockets in the state in which they receive: asks it for each of them.
  bool listens(const FaceAt& at) const;
  bool contains(const PortalId& id) const { return entries_.contains(id); }
  // Whether it is the cluster IP of the service port, rather than an external address.
  bool is_cluster_ip(const PortalId& id, const abi::Address& address) const;

  std::size_t size() const noexcept { return entries_.size(); }
  const ClaimBook& claims() const noexcept { return claims_; }

 private:
  struct OpenFace {
    FacePtr face;
    ServingId serving = 0;  // 0: its sockets are closed
    std::uint16_t port = 0;
    std::vector<std::string> names{};  // of sockets that are kept
    std::uint16_t earlier = 0;         // UDP: where the backend before this one may still read
  };
  struct Entry {
    OpenFace cluster;
    OpenFace local;
    std::vector<ClaimedAddress> claims;     // wanted; sorted, each once
    std::vector<abi::Address> addresses;    // of frontends, without node ports
    std::optional<abi::Address> cluster_ip{};
    std::unique_ptr<KeptServicePort> kept;  // while a claim is refused
    std::uint64_t seen = 0;
  };
  struct IdHash {
    std::size_t operator()(const PortalId& id) const noexcept {
      return std::hash<std::string_view>()(id.first) * 31 + static_cast<std::size_t>(id.second);
    }
  };
  struct AddressHash {
    std::size_t operator()(const abi::Address& address) const noexcept {
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(address.bytes), sizeof(address.bytes)});
    }
  };
  using Entries = std::unordered_map<PortalId, Entry, IdHash>;

  std::string bring(OpenFace& to, FaceKind kind, bool needed, const abi::ServicePort& port, std::uint16_t preferred);
  void open(OpenFace& to, FacePtr face, std::uint16_t preferred);
  void give_up(OpenFace& face);
  void keep_all();
  void drop_names(const OpenFace& face);
  // Sockets that are open, those to be closed too; takes them away where `visit` says so.
  void each_open(const std::function<void(const PortalId&, OpenFace&, bool local)>& visit);
  std::vector<ServingId> take_open(abi::Protocol protocol);
  std::vector<FacePtr> faces(abi::Protocol protocol) const;
  void forget(Entry& entry, const PortalId& id);
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
  const Takeover takeover_;
  ProxyPortOpener opener_;
  ClaimBook claims_;
  Entries entries_;
  std::map<PortalId, ProxyPorts> preferred_;
  std::map<PortalId, std::vector<Balancer::Binding>> bindings_;
  std::vector<OpenFace> closing_;
  std::unordered_map<abi::Address, std::size_t, AddressHash> addresses_;  // of frontends, and how many
  std::uint64_t round_ = 0;
  std::uint64_t seed_;
};

// Printed name and protocol.
PortalId portal_id(const abi::ServicePortKey& key);

}  // namespace sluice::userspace
