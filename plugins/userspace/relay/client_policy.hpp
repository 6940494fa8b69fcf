// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decides whether an endpoint sees the address of the client: whenever iptables mode does not masquerade
// (BEH 5.5, 5.7). Pure, except ClientPolicy, which is thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/mutex.hpp"
#include "sluice/abi/node.hpp"
#include "sluice/abi/service.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {

// The node facts that the decision depends on.
struct ClientFacts {
  abi::Family family = abi::Family::kIpv4;
  bool masquerade_all = false;
  abi::LocalDetectorKind detector = abi::LocalDetectorKind::kNone;
  abi::Prefix detector_cidr{};
  std::string detector_interface;
  std::vector<abi::Address> local_addresses;  // sorted, without loopback
  bool possible = true;  // this node can give connections the address of a client that is elsewhere
  bool operator==(const ClientFacts&) const = default;

  bool of_this_node(const abi::Address& address) const noexcept;  // loopback included
};
ClientFacts client_facts(abi::Family family, const abi::NodeFacts& node);

// What the decision depends on of a service port.
struct ClientFrontends {
  abi::Address cluster_ip{};
  std::uint16_t cluster_port = 0;
  bool external = false;        // there are other frontends
  bool external_local = false;  // they have the external traffic policy Local
  bool operator==(const ClientFrontends&) const = default;
};
ClientFrontends client_frontends(const abi::ServicePort& port);

// How a connection or datagram arrived. Called only when the decision depends on it, since each function costs system
// calls.
class Arrival {
 public:
  struct Destination {
    abi::Address address;
    std::uint16_t port;
  };
  // The address to which the client has sent; empty if the kernel does not know it.
  virtual std::optional<Destination> destination() const noexcept = 0;
  // The name of the input interface; empty if it is unknown.
  virtual std::string interface() const = 0;

 protected:
  ~Arrival() = default;
};

// Throws std::bad_alloc.
bool keeps_client_address(const ClientFacts& facts, const ClientFrontends& frontends, const abi::Address& client,
                          const Arrival& arrival);

// The facts of one family: written by its apply thread, read by relay threads.
class ClientPolicy {
 public:
  void set(ClientFacts facts);
  // Null before the first set().
  std::shared_ptr<const ClientFacts> facts() const;

 private:
  mutable lib::Mutex mutex_;
  std::shared_ptr<const ClientFacts> facts_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::userspace
