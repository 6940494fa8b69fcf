// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/reload/reload_result.hpp"

#include "lib/rfc3339.hpp"

namespace sluice::reload {

using nlohmann::json;

const char* reload_outcome_name(ReloadOutcome outcome) {
  switch (outcome) {
    case ReloadOutcome::success:
      return "success";
    case ReloadOutcome::unchanged:
      return "unchanged";
    case ReloadOutcome::failed:
      return "failed";
  }
  return "failed";
}

json reload_json(const ReloadResult& result) {
  return {{"result", reload_outcome_name(result.outcome)},
          {"applied", result.ok() || result.partly_applied},
          {"sentences", result.sentences},
          {"warnings", result.warnings},
          {"trigger", result.trigger},
          {"seconds", result.seconds},
          {"at", lib::rfc3339(result.at)}};
}

json reload_json(const ReloadStatus& status) {
  json out = {{"count", status.count}};
  if (status.last) out["last"] = reload_json(*status.last);
  if (status.last_success) out["last_success"] = lib::rfc3339(*status.last_success);
  if (status.in_progress_since) {
    out["in_progress"] = {
        {"since", lib::rfc3339(*status.in_progress_since)}, {"trigger", status.trigger}, {"doing", status.doing}};
  }
  return out;
}

}  // namespace sluice::reload
