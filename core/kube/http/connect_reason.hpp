// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Why connections to a server fail. The HTTP library reports a refused connection and a missing route alike, so the
// error comes from another connect. While connections fail, that happens at most once a minute for each address:
// otherwise each attempt of each client would be two for the server. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "lib/clock.hpp"
#include "lib/ip.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

class ConnectReason {
 public:
  using Connect = std::function<lib::Status(const lib::IpAddress&, std::uint16_t port)>;

  explicit ConnectReason(const lib::Clock& clock);
  ConnectReason(const lib::Clock& clock, Connect connect) : clock_(clock), connect_(std::move(connect)) {}

  // The error of a connect to this address, at most a minute old. Ok: the connection works. Blocks for at most a second
  // per address.
  lib::Status find(const lib::IpAddress& address, std::uint16_t port);
  // A connection works: the next failure may have another reason.
  void forget();

 private:
  struct Found {
    lib::Status error;
    lib::Clock::Time at;
  };
  const lib::Clock& clock_;
  const Connect connect_;
  lib::Mutex mutex_;
  std::map<std::pair<lib::IpAddress, std::uint16_t>, Found> found_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::kube
