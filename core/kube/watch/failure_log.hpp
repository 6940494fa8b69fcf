// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Limits log lines about repeated failures: logs the first one, a changed reason, then the 4th, 16th, 64th time, and
// the recovery. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lib/mutex.hpp"

namespace sluice::kube {

class FailureLog {
 public:
  // `topic`: what is attempted ("list services"), the key under which reasons are compared.
  void failed(const std::string& topic, const std::string& reason);
  void succeeded(const std::string& topic);

 private:
  struct Entry {
    std::string reason;
    std::uint64_t same = 0;   // consecutive failures with this reason
    std::uint64_t total = 0;  // consecutive failures
  };
  lib::Mutex mutex_;
  std::map<std::string, Entry> entries_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::kube
