// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sockets that outlive this backend: the daemon keeps duplicates of them by name, for the new
// backend and, if the service manager stores descriptors, for the next process. Without a daemon
// that supports it nothing is kept. Apply thread only.
//
// A duplicate keeps the port in use: when a socket is closed, its name must be dropped too.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/fd.hpp"
#include "sluice/abi/descriptors.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::userspace {

// Properties a kept socket must have to be used instead of a new one.
struct SocketNeeds {
  abi::Family family;
  abi::Protocol protocol;
  std::optional<abi::Address> address;  // none: any
  std::uint16_t port;                   // 0: any
  bool listens;                         // TCP only
};
// Empty, or the property that does not match, as a phrase.
std::string unfit_reason(int fd, const SocketNeeds& needs);

class KeptSockets {
 public:
  // `store` may be null. Both outlive this object.
  KeptSockets(abi::HostDescriptors* store, const sdk::Logger& log) : store_(store), log_(log) {}

  bool any() const noexcept { return store_ != nullptr; }
  std::vector<std::string> names() const;

  // The socket kept under that name, made non-blocking. None if there is none, or if it does not match `needs`: then
  // its name is dropped and logged once.
  lib::Fd take(const std::string& name, const SocketNeeds& needs);
  // Keeps this socket under `name`, replacing any other. Logs the first failure, and does not fail.
  void keep(const std::string& name, int socket);
  void drop(const std::string& name);
  // Whether the same socket is kept under that name.
  bool holds(const std::string& name, int socket) const;
  // Only if it is the same socket: another backend may have replaced it.
  void drop(const std::string& name, int socket);

  // Drops all names that are not in `wanted`.
  void drop_all_except(const std::set<std::string>& wanted);

 private:
  abi::HostDescriptors* const store_;
  const sdk::Logger& log_;
  bool keep_failure_reported_ = false;
  std::set<std::string> unfit_reported_;  // names
};

// The name of a socket that serves a service port: "tcp_cluster_shop_cart_http", "udp2_local_shop_dns_53".
// `service_port` is its printed name; it is hashed if it is too long or contains characters that are not allowed.
std::string kept_name(abi::Protocol protocol, bool local, std::string_view service_port, std::size_t number);
// The name of a claim socket: "claim_tcp_30080_00000000000000000000000000000000".
std::string kept_claim_name(abi::Protocol protocol, std::uint16_t port, const abi::Address& address);

}  // namespace sluice::userspace
