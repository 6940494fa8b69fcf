// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/logging/logging_part.hpp"

#include "core/logging/logging.hpp"

namespace sluice::logging {

bool LoggingPart::concerned(const config::Settings& from, const config::Settings& to) const {
  return !(from.log == to.log);
}

lib::Status LoggingPart::prepare(const config::Settings&, const config::Settings& to) {
  next_ = to.log;
  return {};
}

reload::Committed LoggingPart::commit() {
  set_up_logging(next_);
  return {.done = {"logging: " + std::string(next_.format == config::LogFormat::json ? "json" : "text") +
                   ", verbosity " + std::to_string(next_.verbosity)}};
}

}  // namespace sluice::logging
