// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends whose sockets have to outlive them: the daemon hands them on, to the backend
// that follows and, where the service manager keeps descriptors (sd_notify(3), FDSTORE), to
// the next process.
#pragma once

#include "sluice/abi/backend.hpp"

namespace sluice::abi {

// The id for Host::extension(); what it returns is a `HostDescriptors*`, valid as long
// as the host.
inline constexpr char kHostDescriptors[] = "sluice.host.descriptors/1";

// "sluice.host.descriptors/1".
//
// A descriptor is kept under a name: 1 to 200 bytes of letters, digits and "-_.", unique
// within a backend id and family: who serves, who retires and who comes share it, and the later
// keep() counts. Every method may be called from any thread, does not wait
// for the service manager, and never calls the backend. Complete as it is: it will never
// grow.
class HostDescriptors {
 public:
  // Keeps a duplicate of `fd` as `name`, in place of what was kept so. kOk, or why not; the
  // caller's descriptor stays the caller's. That the service manager has none to spare, or
  // does not exist, is no failure: then what is kept ends with the process.
  virtual Code keep(StringView name, std::int32_t fd, Error* error) noexcept = 0;

  // A duplicate (close-on-exec) of what is kept as `name`, by whomever, an earlier process
  // included; it belongs to the caller. -1 where there is none. It stays kept.
  virtual std::int32_t take(StringView name) noexcept = 0;

  // Nothing is kept as `name` any more.
  virtual void drop(StringView name) noexcept = 0;

  // Every name that is kept.
  virtual void names(StringSink* sink) noexcept = 0;

 protected:
  ~HostDescriptors() = default;
};

}  // namespace sluice::abi
