// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Health of the proxy and its node, and the HTTP answers that report it (BEH 10.1). Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/observe/http/http_message.hpp"
#include "lib/clock.hpp"
#include "lib/ip.hpp"

namespace sluice::observe {

using WallTime = std::chrono::system_clock::time_point;

struct FamilyHealth {
  lib::Family family = lib::Family::ipv4;
  std::optional<WallTime> last_updated{};              // nothing: its sync loop has not started; not listed then
  std::optional<lib::Clock::Duration> pending_for{};  // age of the oldest change that is not in the kernel
  std::optional<WallTime> last_synced{};               // last time that no change was pending; nothing: never
  std::optional<lib::Clock::Duration> running_for{};  // run time of its sync loop; nothing: not started
  std::string error{};                                 // why its backend fails, or empty
};

// Age of the oldest pending change, or run time without a first sync.
std::optional<lib::Clock::Duration> oldest_pending(const FamilyHealth& family);

struct ProxyHealth {
  std::vector<FamilyHealth> families;
  lib::Clock::Duration late;  // maximum age of a pending change of a healthy family
  bool node_eligible = false;  // the Node exists and is not being deleted
  WallTime now;
};

bool family_healthy(const FamilyHealth& family, lib::Clock::Duration late);
// Whether all families are healthy; ignores the node.
bool proxy_healthy(const ProxyHealth& health);

// The answers to /healthz, /livez, /readyz and /sync. The first two match kube-proxy byte for byte.
HttpResponse healthz(const ProxyHealth& health);
HttpResponse livez(const ProxyHealth& health);
// Ready: the backend has programmed this node for every family, and does not fail.
HttpResponse readyz(const ProxyHealth& health);
// Age and time of the oldest pending change of each family.
HttpResponse sync_ages(const ProxyHealth& health);

}  // namespace sluice::observe
