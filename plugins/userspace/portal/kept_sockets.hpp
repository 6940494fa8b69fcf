// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sockets that outlive this backend: the daemon keeps duplicates of them by name, for the
// backend that follows and, where the service manager keeps descriptors, for the next
// process. Without such a daemon nothing is kept. The apply thread only.
//
// A duplicate keeps the port in use: what is given up has to be dropped, too.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/userspace/descriptor.hpp"
#include "sluice/abi/descriptors.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::userspace {

// What a socket has to be to serve in the place of a new one.
struct SocketNeeds {
  abi::Family family;
  abi::Protocol protocol;
  std::optional<abi::Address> address;  // none: any
  std::uint16_t port;                   // 0: any
  bool listens;                         // of TCP; UDP never does
};
// Empty, or what is wrong with it in a phrase.
std::string unfit(int fd, const SocketNeeds& needs);

class KeptSockets {
 public:
  // `store` may be null; otherwise it and `log` outlive this.
  KeptSockets(abi::HostDescriptors* store, const sdk::Logger& log) : store_(store), log_(log) {}

  bool any() const noexcept { return store_ != nullptr; }
  std::vector<std::string> names() const;

  // The one that is kept by that name, non-blocking; none where there is none, or none that is fit: that one is
  // dropped, and the log says so once.
  Descriptor take(const std::string& name, const SocketNeeds& needs);
  // From now on this very socket is kept, whatever was. That it cannot be kept is said once, and is no failure.
  void keep(const std::string& name, int socket);
  void drop(const std::string& name);
  // Whether this very socket is kept by that name.
  bool holds(const std::string& name, int socket) const;
  // Only if it is this very socket: another backend may have put another one in its place.
  void drop(const std::string& name, int socket);

  // Drops all but these.
  void drop_others(const std::set<std::string>& wanted);

 private:
  abi::HostDescriptors* const store_;
  const sdk::Logger& log_;
  bool said_ = false;            // that keeping fails
  std::set<std::string> unfit_;  // said of these
};

// The name of a socket that serves a service port: "tcp_cluster_shop_cart_http", "udp2_local_shop_dns_53".
// `service_port` is its printed name; one that has characters which are not allowed, or is too long, becomes a hash.
std::string kept_name(abi::Protocol protocol, bool local, std::string_view service_port, std::size_t number);
// That of a port of the node that is held: "claim_tcp_30080_00000000000000000000000000000000".
std::string kept_claim_name(abi::Protocol protocol, std::uint16_t port, const abi::Address& address);

}  // namespace sluice::userspace
