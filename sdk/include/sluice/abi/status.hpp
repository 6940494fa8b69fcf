// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends with facts that an operator should see in `sluicectl status` (since minor 1).
#pragma once

#include "sluice/abi/host.hpp"

namespace sluice::abi {

// The id for Host::extension(), which returns a `HostStatus*`. It is valid as long as the host.
inline constexpr char kHostStatus[] = "sluice.host.status/1";

// "sluice.host.status/1".
//
// A fact has a name and a value. The status of the daemon contains the facts of the active backend, for each family.
// Every method may be called from any thread, does not block, and never calls the backend. This class never grows.
class HostStatus {
 public:
  // Sets the fact `name` ("client addresses") to `value` ("hidden: CAP_NET_RAW is missing"), until the next call with this
  // name, or until release() returns. An empty value removes it. `remedy` is the action that changes an unwanted value
  // ("run the daemon with the capability CAP_NET_RAW"); it may be empty. All arguments are UTF-8 and copied; the daemon
  // truncates `value` and `remedy` to 200 bytes. The call is ignored if `name` is empty or has more than 200 bytes, or if
  // there are 16 facts with other names.
  virtual void set(StringView name, StringView value, StringView remedy) noexcept = 0;

 protected:
  ~HostStatus() = default;
};

}  // namespace sluice::abi
