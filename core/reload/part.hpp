// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One part of the daemon that settings can change while it runs. A reload is all or
// nothing: every part prepares, then every part commits; where one cannot prepare, those
// before it are told to abandon, and nothing has changed.
// All calls come from the reload thread.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.hpp"
#include "core/config/settings.hpp"

namespace sluice::reload {

// What commit() came to, as sentences without a full stop.
struct Committed {
  std::vector<std::string> done{};
  std::vector<std::string> failed{};  // what is not as `to` says; the reload is reported as failed
};

class ReloadPart {
 public:
  virtual ~ReloadPart() = default;
  // Whether it has anything to do when `from` becomes `to`.
  virtual bool concerned(const config::Settings& from, const config::Settings& to) const = 0;
  // Everything that can fail. Not ok: it is as before.
  // Called for concerned parts only; both live until commit() or abandon().
  virtual base::Status prepare(const config::Settings& from, const config::Settings& to) = 0;
  // `to` is in force.
  virtual Committed commit() = 0;
  virtual void abandon() = 0;
};

}  // namespace sluice::reload
