// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The bearer token: given in place, or in a file that is read again when the token is
// fifty seconds old (a minute less ten seconds, as client-go has it) or was refused.
// Any thread.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "core/base/clock.hpp"
#include "core/base/status.hpp"
#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/kept_value_log.hpp"

namespace sluice::kube {

class TokenFile {
 public:
  // The clock outlives it.
  TokenFile(Material source, const base::Clock& clock) : source_(std::move(source)), clock_(clock) {}

  // A file that cannot be read leaves the last token in force, as it is replaced in
  // place by some tools; it fails only while there is none.
  base::Result<std::string> token();
  // The server did not accept `token`: unless it is an old one, the file is read at once.
  void refused(const std::string& token);

 private:
  base::Result<std::string> read() const;

  const Material source_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::string last_;
  std::optional<base::Clock::Time> fresh_until_;
  KeptValueLog kept_;
};

}  // namespace sluice::kube
