// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends that relay packets in their own process: they report the ports of their relay sockets.
#pragma once

#include "sluice/abi/service.hpp"

namespace sluice::abi {

// The id for Host::extension(), which returns a `HostRelay*`. It is valid as long as the host.
inline constexpr char kHostRelay[] = "sluice.host.relay/1";

// "sluice.host.relay/1".
//
// The daemon deletes conntrack entries of UDP flows to a frontend if their destination no longer serves the frontend. If
// a backend directs packets to a socket of its own instead of an endpoint, the destination is a port of this node, so
// the daemon must know these ports. This class never grows.
class HostRelay {
 public:
  // Sets the ports, on any address of this node, at which the backend receives UDP packets to the frontends of `key`.
  // `ports`: elements are std::uint16_t in host byte order, in any order; empty: the service port is not relayed.
  // Replaces the ports of earlier calls for `key`; repeating them has no cost.
  // Valid until the next call for `key`, or until a successful apply() whose transaction removes `key`, or is full and
  // does not name it. If the service port returns, the backend must set its ports again. Protocols other than UDP are
  // ignored.
  // During apply(): must be called on the apply thread, for service ports of the transaction, while the sockets are open.
  // It takes effect when apply() succeeds: the daemon then deletes flows with other ports of this node as destination, and
  // flows that were sent to a frontend before a socket received them. After a failed apply() it takes effect with the
  // next one.
  // During retire(): must be called with empty `ports` for each service port a few seconds before the sockets close.
  // After the last call the daemon deletes the flows that still have these ports as destination; their next packet goes
  // to the active backend. The daemon calls retire() again when this is done, or 10 s after the end of the drain.
  // Must not be called at other times.
  // Does not block, and never calls the backend. `key` and `ports` are copied.
  virtual void set_relay_ports(const ServicePortKey* key, ArrayView ports) noexcept = 0;

 protected:
  ~HostRelay() = default;
};

}  // namespace sluice::abi
