// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Resolves names, and finds out why a connect failed, without blocking shutdown: getaddrinfo() cannot be interrupted,
// and the HTTP library's own lookup would delay the exit of the process until a dead name server times out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/ip.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

struct LookupResult {
  int error = 0;  // of getaddrinfo(3)
  std::vector<lib::IpAddress> addresses;
};

// Calls getaddrinfo(3); blocks as long as the name servers and NSS modules of the node take.
LookupResult system_lookup(const std::string& host);

// Resolves names, each lookup on its own thread. A lookup that does not return keeps its thread, so their number is
// bounded. Thread-safe.
//
// Ownership: a lookup may outlive the resolver; it owns the state that it uses.
class HostResolver {
 public:
  using Lookup = std::function<LookupResult(const std::string& host)>;
  // The maximum number of lookups in progress.
  static constexpr std::size_t kMostLookups = 4;

  // `lookup` may block without limit. It may run after the resolver is destroyed.
  explicit HostResolver(Lookup lookup = system_lookup);

  // All addresses of `host`, which may be an IP address. Waits for at most `limit`, and returns soon after `stopped`
  // (called on this thread) returns true.
  // Callers with the same name share a lookup until one of them times out; the next caller then starts another. Fails
  // at once if kMostLookups are in progress.
  lib::Result<std::vector<lib::IpAddress>> resolve(const std::string& host, std::chrono::milliseconds limit,
                                                   const std::function<bool()>& stopped);

  // The number of lookups in progress, each with a thread.
  std::size_t in_progress() const;

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

// Connects once, to find the error that the HTTP library does not report. Returns ok if the connection works.
lib::Status probe_connect(const lib::IpAddress& address, std::uint16_t port, std::chrono::milliseconds limit);

}  // namespace sluice::kube
