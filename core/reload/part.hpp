// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A part of the daemon that can apply changed settings while it runs. A reload is all or nothing: every part prepares,
// then every part commits. If a part cannot prepare, the parts before it abandon, and nothing changes. All calls come
// from the reload thread.
#pragma once

#include <string>
#include <vector>

#include "core/config/settings.hpp"
#include "lib/status.hpp"

namespace sluice::reload {

// The result of commit(), as sentences without a full stop.
struct Committed {
  std::vector<std::string> done{};
  std::vector<std::string> failed{};  // settings that could not be applied; the reload is reported as failed
};

class ReloadPart {
 public:
  virtual ~ReloadPart() = default;
  // Whether the change from `from` to `to` affects this part.
  virtual bool concerned(const config::Settings& from, const config::Settings& to) const = 0;
  // Does everything that can fail; on failure nothing has changed. Called for concerned parts only; both references are
  // valid until commit() or abandon().
  virtual lib::Status prepare(const config::Settings& from, const config::Settings& to) = 0;
  // Applies `to`.
  virtual Committed commit() = 0;
  virtual void abandon() = 0;
};

}  // namespace sluice::reload
