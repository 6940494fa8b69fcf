// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Name → addresses, and why a connect failed, both in a way that can be left at once:
// getaddrinfo() cannot be interrupted and the HTTP library's own lookup would hold up
// the end of the process for as long as a dead name server takes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/base/status.hpp"

namespace sluice::kube {

struct LookupResult {
  int error = 0;  // of getaddrinfo(3)
  std::vector<base::IpAddress> addresses;
};

// getaddrinfo(3): blocks for as long as the name servers and NSS modules of the node take.
LookupResult system_lookup(const std::string& host);

// Looks names up, each lookup on a thread of its own. A lookup that does not return keeps
// its thread, so their number has a bound. Any thread may call every method.
//
// Ownership: a lookup that outlives the resolver owns what it needs and ends by itself.
class HostResolver {
 public:
  using Lookup = std::function<LookupResult(const std::string& host)>;
  // The most lookups in progress.
  static constexpr std::size_t kMostLookups = 4;

  // `lookup` may block without limit. It may run after the resolver is destroyed.
  explicit HostResolver(Lookup lookup = system_lookup);

  // All addresses of `host`, which may be one itself. Waits for `limit` at most, and
  // returns soon after `stopped` (called on this thread) is true.
  // Callers that ask for one name share a lookup until one of them has waited in vain;
  // the next caller starts another. If kMostLookups are in progress, it fails at once.
  base::Result<std::vector<base::IpAddress>> resolve(const std::string& host, std::chrono::milliseconds limit,
                                                     const std::function<bool()>& stopped);

  // Lookups in progress, each with a thread.
  std::size_t in_progress() const;

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

// Connects once, to learn the reason the HTTP library does not pass on. Ok if it works.
base::Status probe_connect(const base::IpAddress& address, std::uint16_t port, std::chrono::milliseconds limit);

}  // namespace sluice::kube
