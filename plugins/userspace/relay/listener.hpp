// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A listener: a service port and one of its lists of endpoints. A service port has one listener, or
// two if its traffic policies use different lists. Shared by the apply thread and the relays;
// thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "lib/mutex.hpp"
#include "plugins/userspace/balancer/balancer.hpp"
#include "plugins/userspace/relay/client_policy.hpp"
#include "plugins/userspace/relay/endpoint_socket.hpp"
#include "plugins/userspace/relay/relayed_count.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

// The list of endpoints of a listener.
enum class ListenerKind : std::uint8_t {
  kCluster,  // all serving endpoints
  kLocal,    // endpoints of this node
};

class Listener {
 public:
  // `relayed` counts connections and flows, in addition to the statistics of the engine; `mark` is that of sockets to
  // endpoints; `policy` decides whether these see the address of the client. All may be null.
  Listener(std::string name, abi::Protocol protocol, abi::Family family, ListenerKind kind,
           const BalancerSettings& settings, std::uint64_t seed, std::shared_ptr<RelayedCount> relayed = nullptr,
           std::shared_ptr<const RelayMark> mark = nullptr,
           std::shared_ptr<const ClientPolicy> policy = nullptr)
      : name_(std::move(name)),
        protocol_(protocol),
        family_(family),
        kind_(kind),
        balancer_(settings, seed),
        relayed_(std::move(relayed)),
        mark_(std::move(mark)),
        policy_(std::move(policy)) {}

  const std::string& name() const noexcept { return name_; }  // "shop/cart:http"
  abi::Protocol protocol() const noexcept { return protocol_; }
  abi::Family family() const noexcept { return family_; }
  ListenerKind kind() const noexcept { return kind_; }
  Balancer& balancer() noexcept { return balancer_; }
  // To all endpoints that it has, or had.
  Traffic& traffic() noexcept { return traffic_; }
  RelayedCount* relayed() const noexcept { return relayed_.get(); }
  std::uint32_t mark() const noexcept { return mark_ == nullptr ? 0 : mark_->load(std::memory_order_relaxed); }

  bool sends_proxy_header() const noexcept { return sends_proxy_header_.load(std::memory_order_relaxed); }
  void set_sends_proxy_header(bool on) noexcept { sends_proxy_header_.store(on, std::memory_order_relaxed); }

  void set_frontends(const ClientFrontends& frontends);
  // How endpoints see a client.
  struct Client {
    bool kept = false;     // by its own address
    bool is_here = false;  // this is an address of this node
    bool possible = true;  // see ClientFacts
  };
  // Throws std::bad_alloc.
  Client client(const abi::Address& address, const Arrival& arrival) const;

 private:
  const std::string name_;
  const abi::Protocol protocol_;
  const abi::Family family_;
  const ListenerKind kind_;
  Balancer balancer_;
  const std::shared_ptr<RelayedCount> relayed_;
  const std::shared_ptr<const RelayMark> mark_;
  const std::shared_ptr<const ClientPolicy> policy_;
  std::atomic<bool> sends_proxy_header_{false};  // PROXY protocol v2, to the endpoint
  mutable lib::Mutex mutex_;
  ClientFrontends frontends_ SLUICE_GUARDED_BY(mutex_);
  Traffic traffic_;
};

using ListenerPtr = std::shared_ptr<Listener>;

}  // namespace sluice::userspace
