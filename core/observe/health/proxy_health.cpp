// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/health/proxy_health.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/rfc3339.hpp"

namespace sluice::observe {
namespace {

constexpr const char* kZeroTime = "0001-01-01T00:00:00Z";

// Like Go's RFC3339Nano.
std::string rfc3339_nano(WallTime time) { return lib::rfc3339(time, lib::Fraction::shortest); }

// By hand, because a JSON library would sort the keys, and kube-proxy does not.
std::string json_string(std::string_view text) { return "\"" + std::string(text) + "\""; }
const char* word(bool value) { return value ? "true" : "false"; }

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
  std::string body =
      "{\"lastUpdated\":" + json_string(ok ? now : newest_update(health)) + ",\"currentTime\":" + json_string(now);
  if (about_node) body += std::string(",\"nodeEligible\":") + word(health.node_eligible);
  body += std::string(",\"healthy\":") + word(healthy) + ",\"status\":{";
  bool first = true;
  for (const auto& family : health.families) {
    if (!family.last_updated) continue;
    body += std::string(first ? "" : ",") + json_string(lib::family_name(family.family)) +
            ":{\"lastUpdated\":" + json_string(rfc3339_nano(*family.last_updated)) +
            ",\"healthy\":" + word(family_healthy(family, health.late)) + "}";
    first = false;
  }
  return answer(ok ? 200 : 503, body + "}}");
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
  nlohmann::ordered_json families = nlohmann::ordered_json::object();
  for (const auto& family : health.families) {
    std::string reason = family.error;
    if (reason.empty() && !family.last_synced) reason = "no successful sync since the start";
    nlohmann::ordered_json& one = families[std::string(lib::family_name(family.family))];
    one["ready"] = reason.empty();
    if (!reason.empty()) one["reason"] = reason;
    ready = ready && reason.empty();
  }
  nlohmann::ordered_json out = {{"ready", ready}, {"currentTime", rfc3339_nano(health.now)}, {"families", families}};
  if (health.families.empty()) out["reason"] = "no backend is active yet";
  // Backend messages may be invalid UTF-8.
  return answer(ready ? 200 : 503, out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

HttpResponse sync_ages(const ProxyHealth& health) {
  std::string body = "{\"currentTime\":" + json_string(rfc3339_nano(health.now)) + ",\"families\":{";
  bool first = true;
  for (const auto& family : health.families) {
    char age[32] = "0";
    std::string since = "null";
    if (const auto pending = oldest_pending(family)) {
      std::snprintf(age, sizeof age, "%.3f", std::chrono::duration<double>(*pending).count());
      since = json_string(rfc3339_nano(health.now - std::chrono::duration_cast<WallTime::duration>(*pending)));
    }
    body += std::string(first ? "" : ",") + json_string(lib::family_name(family.family)) +
            ":{\"oldestPendingSeconds\":" + age + ",\"oldestPendingSince\":" + since +
            ",\"lastUpdated\":" + (family.last_synced ? json_string(rfc3339_nano(*family.last_synced)) : "null") + "}";
    first = false;
  }
  return answer(200, body + "}}\n");
}

}  // namespace sluice::observe
