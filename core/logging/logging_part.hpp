// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The reload part for log format, verbosity and streams. A verbosity set over /debug/flags/v stays until the log
// configuration changes.
#pragma once

#include <string>
#include <vector>

#include "core/config/settings.hpp"
#include "core/reload/part.hpp"

namespace sluice::logging {

class LoggingPart final : public reload::ReloadPart {
 public:
  bool concerned(const config::Settings& from, const config::Settings& to) const override;
  lib::Status prepare(const config::Settings& from, const config::Settings& to) override;
  reload::Committed commit() override;
  void abandon() override {}

 private:
  config::LogSettings next_;
};

}  // namespace sluice::logging
