// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Clients of session affinity on their way to the daemon.
#pragma once

#include <cstddef>

#include "sluice/abi/affinity.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

// Passes clients on in batches, for there may be hundreds of thousands. What their keys show has to stay until the
// batch goes, which is at the end of this object at the latest.
class AffinityBatch {
 public:
  // `sink` outlives this.
  explicit AffinityBatch(abi::AffinitySink& sink) noexcept : sink_(sink) {}
  ~AffinityBatch() { flush(); }
  AffinityBatch(const AffinityBatch&) = delete;
  AffinityBatch& operator=(const AffinityBatch&) = delete;

  void add(const abi::AffinityClient& client) noexcept {
    clients_[count_++] = client;
    if (count_ == kMost) flush();
  }
  void flush() noexcept {
    if (count_ != 0) sink_.add(array(clients_, count_));
    count_ = 0;
  }

 private:
  static constexpr std::size_t kMost = 128;

  abi::AffinitySink& sink_;
  abi::AffinityClient clients_[kMost];
  std::size_t count_ = 0;
};

}  // namespace sluice::sdk
