// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Says that something keeps failing without saying it each time: at once when it
// starts or its reason changes, then the 4th, 16th, 64th time, and once when it works
// again. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace sluice::kube {

class FailureLog {
 public:
  explicit FailureLog(std::string component) : component_(std::move(component)) {}

  // `topic`: what is attempted ("list services"), the key under which reasons are compared.
  void failed(const std::string& topic, const std::string& reason);
  void succeeded(const std::string& topic);

 private:
  struct Entry {
    std::string reason;
    std::uint64_t same = 0;   // times in a row for this reason
    std::uint64_t total = 0;  // times in a row at all
  };
  const std::string component_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace sluice::kube
