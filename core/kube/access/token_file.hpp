// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The bearer token, inline or from a file. The file is read again when the token is 50 seconds old (one minute minus
// ten seconds, as in client-go) or was rejected. Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/kept_value_log.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

class TokenFile {
 public:
  // The clock must outlive this object.
  TokenFile(Material source, const lib::Clock& clock) : source_(std::move(source)), clock_(clock) {}

  // If the file cannot be read, the last token is kept, because some tools replace the file in place. Fails only if
  // there is no token yet.
  lib::Result<std::string> token();
  // The server rejected `token`: the next token() reads the file, unless there is already a newer token.
  void refused(const std::string& token);

 private:
  lib::Result<std::string> read() const;

  const Material source_;
  const lib::Clock& clock_;
  lib::Mutex mutex_;
  std::string last_ SLUICE_GUARDED_BY(mutex_);
  std::optional<lib::Clock::Time> fresh_until_ SLUICE_GUARDED_BY(mutex_);
  KeptValueLog kept_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::kube
