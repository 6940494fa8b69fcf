// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Format, verbosity and streams of the log, as the part of a reload that they are. A verbosity that was set over
// /debug/flags/v stays until the configuration says something else about the log.
#pragma once

#include <string>
#include <vector>

#include "core/app/config/settings.hpp"
#include "core/app/reload/part.hpp"

namespace sluice::app {

class LoggingPart final : public ReloadPart {
 public:
  bool concerned(const Settings& from, const Settings& to) const override;
  base::Status prepare(const Settings& from, const Settings& to) override;
  Committed commit() override;
  void abandon() override {}

 private:
  LogSettings next_;
};

}  // namespace sluice::app
