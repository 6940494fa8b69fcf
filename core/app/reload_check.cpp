// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/reload_check.hpp"

#include <string>

#include "core/base/log.hpp"

namespace sluice::app {

ReloadVerdict check_reload(const Settings& running, const ReadSettings& read) {
  Problems problems;
  const Settings found = read(problems);
  for (const auto& problem : problems.all()) {
    base::log_warning("app", "reload: " + problem.to_string());
  }
  if (problems.has_errors()) {
    base::log_error("app",
                    "reload: the configuration has errors, see above; what is in force stays, and a restart would fail: "
                    "correct it before the next one");
    return ReloadVerdict::unusable;
  }
  if (found == running) {
    base::log_info("app", "reload: the configuration says what is in force; nothing to do");
    return ReloadVerdict::unchanged;
  }
  base::log_warning("app",
                    "reload: the configuration has changed and is usable; changes need a restart in this version, which "
                    "does not interrupt traffic");
  return ReloadVerdict::needs_restart;
}

}  // namespace sluice::app
