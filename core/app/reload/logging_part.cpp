// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/reload/logging_part.hpp"

#include "core/app/logging.hpp"

namespace sluice::app {

bool LoggingPart::concerned(const Settings& from, const Settings& to) const { return !(from.log == to.log); }

base::Status LoggingPart::prepare(const Settings&, const Settings& to) {
  next_ = to.log;
  return {};
}

Committed LoggingPart::commit() {
  set_up_logging(next_);
  return {.done = {"logging: " + std::string(next_.format == LogFormat::json ? "json" : "text") + ", verbosity " +
                   std::to_string(next_.verbosity)}};
}

}  // namespace sluice::app
