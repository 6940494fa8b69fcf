// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The facts that one backend object shows in the status of the daemon. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "lib/mutex.hpp"
#include "sluice/abi/status.hpp"

namespace sluice::plugin {

struct StatusFact {
  std::string name;
  std::string value;
  std::string remedy;  // may be empty
};

class StatusFacts final : public abi::HostStatus {
 public:
  static constexpr std::size_t kMaxFacts = 16;
  static constexpr std::size_t kMaxText = 200;  // bytes of each text

  StatusFacts() = default;
  ~StatusFacts() = default;
  StatusFacts(const StatusFacts&) = delete;
  StatusFacts& operator=(const StatusFacts&) = delete;

  void set(abi::StringView name, abi::StringView value, abi::StringView remedy) noexcept override;
  // Sorted by name.
  std::vector<StatusFact> all() const;

 private:
  struct Fact {
    std::string value;
    std::string remedy;
  };
  mutable lib::Mutex mutex_;
  std::map<std::string, Fact> facts_ SLUICE_GUARDED_BY(mutex_);  // by name
};

}  // namespace sluice::plugin
