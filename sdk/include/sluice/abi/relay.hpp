// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends that relay in their own process: what they tell the daemon about it.
#pragma once

#include "sluice/abi/service.hpp"

namespace sluice::abi {

// The id for Host::extension(); what it returns is a `HostRelay*`, valid as long
// as the host.
inline constexpr char kHostRelay[] = "sluice.host.relay/1";

// "sluice.host.relay/1".
//
// The daemon removes tracked UDP flows that were sent to a frontend and are answered by
// nobody who serves it. Where a backend leads packets to a socket of its own instead of to
// an endpoint, it is this node that answers: the daemon has to know at which ports.
// Complete as it is: it will never grow.
class HostRelay {
 public:
  // UDP packets to the frontends of `key` are received at these ports, of whatever
  // address of this node. `ports`: std::uint16_t, host byte order, any order; empty: it
  // is not relayed, or not any more. Replaces what was said of `key` before; saying the
  // same again costs nothing.
  // Holds until the next call for `key`, or until an apply() succeeds whose transaction
  // removes `key` or is full and does not name it; a service port that comes back has to be
  // told again. Other protocols than UDP are ignored.
  // During apply(): call it on the apply thread, for service ports the transaction
  // names and with the sockets open. It takes effect when apply() succeeds: flows that
  // are answered by other ports of this node are removed then, as are those that went to a
  // frontend before anybody received them. Of an apply() that fails it is kept for
  // the next one.
  // During retire(): call it with empty `ports` for each service port, a few seconds before
  // the sockets close. After the last one the daemon removes the flows that still lead to
  // them; the next packet of such a flow goes to the backend that serves. It calls retire()
  // again when that is done, or 10 s after the end of the drain.
  // Not at other times.
  // Does not block, never calls the backend; `key` and `ports` are copied.
  virtual void set_relay_ports(const ServicePortKey* key, ArrayView ports) noexcept = 0;

 protected:
  ~HostRelay() = default;
};

}  // namespace sluice::abi
