// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/connect_reason.hpp"

#include "core/kube/http/host_resolver.hpp"

namespace sluice::kube {
namespace {

constexpr std::chrono::seconds kConnectLimit{1};
constexpr std::chrono::minutes kValid{1};

}  // namespace

ConnectReason::ConnectReason(const lib::Clock& clock)
    : ConnectReason(clock, [](const lib::IpAddress& address, std::uint16_t port) {
        return probe_connect(address, port, kConnectLimit);
      }) {}

// Connects with the lock, so that several failures at the same time cause one connect.
lib::Status ConnectReason::find(const lib::IpAddress& address, std::uint16_t port) {
  const lib::Lock lock(mutex_);
  std::erase_if(found_, [now = clock_.now()](const auto& one) { return now - one.second.at >= kValid; });
  const auto known = found_.find({address, port});
  if (known != found_.end()) return known->second.error;
  lib::Status error = connect_(address, port);
  if (!error.ok()) found_.insert({{address, port}, {error, clock_.now()}});
  return error;
}

void ConnectReason::forget() {
  const lib::Lock lock(mutex_);
  found_.clear();
}

}  // namespace sluice::kube
