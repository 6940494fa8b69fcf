// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Whether the proxy and its node are healthy (BEH 10.1), and how that is told. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/ip.hpp"
#include "core/observe/http/http_message.hpp"

namespace sluice::observe {

using WallTime = std::chrono::system_clock::time_point;

struct FamilyHealth {
  base::Family family = base::Family::ipv4;
  std::optional<WallTime> last_updated{};              // nothing: its loop has not begun, and it is not listed
  std::optional<base::Clock::Duration> pending_for{};  // age of the oldest change that is not in the kernel
  std::optional<WallTime> last_synced{};               // everything asked for was in the kernel; nothing: never
  std::optional<base::Clock::Duration> begun_for{};    // since when its loop runs; nothing: it has not begun
  std::string trouble{};                               // why its backend fails, or empty
};

// How long the family has waited for its first sync, or the oldest change for the kernel.
std::optional<base::Clock::Duration> oldest_pending(const FamilyHealth& family);

struct ProxyHealth {
  std::vector<FamilyHealth> families;
  base::Clock::Duration late;  // a change that waits this long makes its family unhealthy
  bool node_eligible = false;  // seen, and not about to be deleted
  WallTime now;
};

bool family_healthy(const FamilyHealth& family, base::Clock::Duration late);
// Of all families; says nothing about the node.
bool proxy_healthy(const ProxyHealth& health);

// The answers of the paths, byte for byte.
HttpResponse healthz(const ProxyHealth& health);
HttpResponse livez(const ProxyHealth& health);
// Ready: the backend has programmed this node for every family, and does not fail.
HttpResponse readyz(const ProxyHealth& health);
// How old the oldest change is that is not in the kernel, and since when it waits.
HttpResponse sync_ages(const ProxyHealth& health);

// "2026-01-02T03:04:05.000000006Z", zeros at the end left out as Go does it.
std::string rfc3339_nano(WallTime time);

}  // namespace sluice::observe
