// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What came of reading the configuration again, and where the reload thread is.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sluice::reload {

enum class ReloadOutcome : std::uint8_t {
  success,    // something has changed and is in force
  unchanged,  // there was nothing to do
  failed,     // what was before stays, but see ReloadResult::in_force
};

// "success", "unchanged", "failed".
const char* reload_outcome_name(ReloadOutcome outcome);

struct ReloadResult {
  ReloadOutcome outcome = ReloadOutcome::unchanged;
  std::vector<std::string> sentences;  // what was done, or everything that is wrong; without a full stop; not empty
  std::vector<std::string> warnings;   // of the configuration; what a start would warn of
  std::string trigger;  // why it was read: "SIGHUP", "sluicectl reload", "/etc/sluice/config.yaml has changed"
  double seconds = 0;
  std::chrono::system_clock::time_point at;  // its end

  bool in_force = false;  // of a failed one: it is in force but for what the first sentences say

  bool ok() const { return outcome != ReloadOutcome::failed; }
  bool operator==(const ReloadResult&) const = default;
};

// A copy for status.
struct ReloadStatus {
  std::uint64_t count = 0;                                            // reloads that have ended
  std::optional<ReloadResult> last;                                   // nothing before the first one
  std::optional<std::chrono::system_clock::time_point> last_success;  // success or unchanged
  // Of the one that runs.
  std::optional<std::chrono::system_clock::time_point> in_progress_since;
  std::string trigger;
  std::string doing;  // "reading the configuration", "backend: preparing", "source: applying"
};

// {"result":"success","sentences":[…],"warnings":[…],"trigger":…,"seconds":…,"at":…}, as the control socket answers.
nlohmann::json reload_json(const ReloadResult& result);
// {"count":…,"last":{…},"last_success":…,"in_progress":{"since":…,"trigger":…,"doing":…}}; what there is not is left
// out. For the key `reload` of the status.
nlohmann::json reload_json(const ReloadStatus& status);

}  // namespace sluice::reload
