// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The result of a reload, and the state of the reload thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sluice::reload {

enum class ReloadOutcome : std::uint8_t {
  success,    // changes were applied
  unchanged,  // no setting changed
  failed,     // the running configuration is kept, but see ReloadResult::partly_applied
};

// "success", "unchanged", "failed".
const char* reload_outcome_name(ReloadOutcome outcome);

struct ReloadResult {
  ReloadOutcome outcome = ReloadOutcome::unchanged;
  std::vector<std::string> sentences;  // the changes, or all errors; without a full stop; not empty
  std::vector<std::string> warnings;   // of the configuration, as at startup
  std::string trigger;                 // the cause: "SIGHUP", "sluicectl reload", "/etc/sluice/config.yaml has changed"
  double seconds = 0;
  std::chrono::system_clock::time_point at;  // end of the reload

  bool partly_applied = false;  // of a failed reload: applied except for what the first sentences report

  bool ok() const { return outcome != ReloadOutcome::failed; }
  bool operator==(const ReloadResult&) const = default;
};

// A snapshot for the status.
struct ReloadStatus {
  std::uint64_t count = 0;                                            // finished reloads
  std::optional<ReloadResult> last;                                   // nothing before the first reload
  std::optional<std::chrono::system_clock::time_point> last_success;  // success or unchanged
  // Of the running reload.
  std::optional<std::chrono::system_clock::time_point> in_progress_since;
  std::string trigger;
  std::string doing;  // "reading the configuration", "backend: preparing", "source: applying"
};

// {"result":"success","sentences":[…],"warnings":[…],"trigger":…,"seconds":…,"at":…}, as the control socket answers.
nlohmann::json reload_json(const ReloadResult& result);
// {"count":…,"last":{…},"last_success":…,"in_progress":{"since":…,"trigger":…,"doing":…}}, without the keys that have
// no value. For the key `reload` of the status.
nlohmann::json reload_json(const ReloadStatus& status);

}  // namespace sluice::reload
