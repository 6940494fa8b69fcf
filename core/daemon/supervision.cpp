// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/supervision.hpp"

#include <algorithm>
#include <utility>

#include "lib/text.hpp"

namespace sluice::daemon {
namespace {

// Maximum age of the line in `systemctl status`.
constexpr std::chrono::seconds kStatusInterval{1};

std::string family_line(const Supervised& now, const Supervised::PerFamily& family) {
  const std::string name(lib::family_name(family.family));
  if (!family.overdue.empty()) return name + ": " + family.overdue + " takes longer than its limit";
  if (!family.loop.last_error.empty()) return name + ": " + family.loop.last_error;
  if (!family.loop.synced) return name + ": writing rules";
  std::string out = name + ": generation " + std::to_string(family.loop.generation) + ", " +
                    std::to_string(now.store.service_ports[lib::family_index(family.family)]) + " service ports";
  const std::size_t not_programmed = family.loop.not_programmed.reasons().size();
  if (not_programmed != 0) out += ", " + std::to_string(not_programmed) + " not programmed";
  return out;
}

}  // namespace

std::string status_line(const Supervised& now) {
  std::string out;
  if (!now.store.synced) {
    out = "waiting for " + now.source;
  } else if (!now.store.facts_known) {
    out = "waiting for spec.podCIDRs of this node";
  } else {
    out = lib::joined(now.families, "; ", [&](const auto& family) { return family_line(now, family); });
  }
  // A newline would end the STATUS= assignment.
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

bool alive(const Supervised& now) {
  return std::all_of(now.families.begin(), now.families.end(),
                     [](const Supervised::PerFamily& family) { return family.overdue.empty(); });
}

Supervision::Supervision(const base::Notifier& notifier) : notifier_(notifier) {}

std::optional<lib::Clock::Duration> Supervision::interval() const {
  if (!notifier_.is_enabled()) return std::nullopt;
  lib::Clock::Duration out = kStatusInterval;
  // A third, so that one lost and one late message do not trigger the watchdog.
  if (notifier_.watchdog()) out = std::min<lib::Clock::Duration>(out, *notifier_.watchdog() / 3);
  return out;
}

void Supervision::ready() { notifier_.notify("READY=1"); }

void Supervision::report(const Supervised& now) {
  const std::string line = status_line(now);
  if (line != last_line_) {
    notifier_.notify("STATUS=" + line);
    last_line_ = line;
  }
  if (notifier_.watchdog() && alive(now)) notifier_.notify("WATCHDOG=1");
}

void Supervision::stopping(std::string_view why) { notifier_.notify("STOPPING=1\nSTATUS=" + std::string(why)); }

}  // namespace sluice::daemon
