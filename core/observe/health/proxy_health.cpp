// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/health/proxy_health.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lib/rfc3339.hpp"
#include "lib/text.hpp"

namespace sluice::observe {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kZeroTime = "0001-01-01T00:00:00Z";

// Like Go's RFC3339Nano.
std::string rfc3339_nano(WallTime time) { return lib::rfc3339(time, lib::Fraction::shortest); }

HttpResponse answer(int status, std::string body) {
  return {status, "application/json", std::move(body), {{"X-Content-Type-Options", "nosniff"}}};
}

std::string newest_update(const ProxyHealth& health) {
  std::optional<WallTime> newest;
  for (const auto& family : health.families) newest = std::max(newest, family.last_updated);
  return newest ? rfc3339_nano(*newest) : kZeroTime;
}

HttpResponse health_answer(const ProxyHealth& health, bool about_node) {
  const bool healthy = proxy_healthy(health);
  const bool ok = healthy && (!about_node || health.node_eligible);
  const std::string now = rfc3339_nano(health.now);
  Json body{{"lastUpdated", ok ? now : newest_update(health)}, {"currentTime", now}};
  if (about_node) body["nodeEligible"] = health.node_eligible;
  body["healthy"] = healthy;
  Json& status = body["status"] = Json::object();
  for (const auto& family : health.families) {
    if (!family.last_updated) continue;
    status[std::string(lib::family_name(family.family))] = {{"lastUpdated", rfc3339_nano(*family.last_updated)},
                                                            {"healthy", family_healthy(family, health.late)}};
  }
  return answer(ok ? 200 : 503, body.dump());
}

}  // namespace

bool family_healthy(const FamilyHealth& family, lib::Clock::Duration late) {
  return !family.last_updated || !family.pending_for || *family.pending_for < late;
}

bool proxy_healthy(const ProxyHealth& health) {
  return std::all_of(health.families.begin(), health.families.end(),
                     [&](const FamilyHealth& family) { return family_healthy(family, health.late); });
}

HttpResponse healthz(const ProxyHealth& health) { return health_answer(health, true); }

HttpResponse livez(const ProxyHealth& health) { return health_answer(health, false); }

std::optional<lib::Clock::Duration> oldest_pending(const FamilyHealth& family) {
  return family.last_synced ? family.pending_for : family.running_for;
}

HttpResponse readyz(const ProxyHealth& health) {
  bool ready = !health.families.empty();
  Json families = Json::object();
  for (const auto& family : health.families) {
    std::string reason = family.error;
    if (reason.empty() && !family.last_synced) reason = "no successful sync since the start";
    Json& one = families[std::string(lib::family_name(family.family))];
    one["ready"] = reason.empty();
    if (!reason.empty()) one["reason"] = reason;
    ready = ready && reason.empty();
  }
  Json out = {{"ready", ready}, {"currentTime", rfc3339_nano(health.now)}, {"families", families}};
  if (health.families.empty()) out["reason"] = "no backend is active yet";
  // Backend messages may be invalid UTF-8.
  return answer(ready ? 200 : 503, out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

HttpResponse sync_ages(const ProxyHealth& health) {
  const auto quoted = [](WallTime time) { return '"' + rfc3339_nano(time) + '"'; };
  // Not with the JSON library, which would omit zeros at the end of the seconds.
  std::string body = lib::joined(health.families, ",", [&](const FamilyHealth& family) {
    char age[32] = "0";
    std::string since = "null";
    if (const auto pending = oldest_pending(family)) {
      std::snprintf(age, sizeof age, "%.3f", std::chrono::duration<double>(*pending).count());
      since = quoted(health.now - std::chrono::duration_cast<WallTime::duration>(*pending));
    }
    return '"' + std::string(lib::family_name(family.family)) + "\":{\"oldestPendingSeconds\":" + age +
           ",\"oldestPendingSince\":" + since +
           ",\"lastUpdated\":" + (family.last_synced ? quoted(*family.last_synced) : "null") + "}";
  });
  return answer(200, "{\"currentTime\":" + quoted(health.now) + ",\"families\":{" + body + "}}\n");
}

}  // namespace sluice::observe
