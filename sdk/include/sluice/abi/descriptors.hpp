// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// For backends whose file descriptors must outlive them. The daemon passes descriptors to the next backend and, if the
// service manager stores descriptors (sd_notify(3), FDSTORE), to the next process.
#pragma once

#include "sluice/abi/backend.hpp"

namespace sluice::abi {

// The id for Host::extension(), which returns a `HostDescriptors*`. It is valid as long as the host.
inline constexpr char kHostDescriptors[] = "sluice.host.descriptors/1";

// "sluice.host.descriptors/1".
//
// A descriptor is kept under a name: 1 to 200 bytes of letters, digits and "-_.". Names are unique within a backend id
// and family: the active, draining and new backends share them, and the last keep() of a name replaces earlier ones.
// Every method may be called from any thread, does not wait for the service manager, and never calls the backend. This
// class never grows.
class HostDescriptors {
 public:
  // Keeps a duplicate of `fd` as `name` and replaces an earlier one. Returns kOk or an error. The caller keeps ownership
  // of `fd`. It is not an error if the service manager cannot store the descriptor: then it is kept until the process
  // ends.
  virtual Code keep(StringView name, std::int32_t fd, Error* error) noexcept = 0;

  // Returns a duplicate (close-on-exec) of the descriptor that is kept as `name`, which may come from another backend or
  // an earlier process, or -1 if there is none. The caller owns the duplicate. The descriptor stays kept.
  virtual std::int32_t take(StringView name) noexcept = 0;

  // Drops the descriptor that is kept as `name`, if any.
  virtual void drop(StringView name) noexcept = 0;

  // Adds the names of all kept descriptors to `sink`.
  virtual void names(StringSink* sink) noexcept = 0;

 protected:
  ~HostDescriptors() = default;
};

}  // namespace sluice::abi
