// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Exports session affinity bindings to the daemon.
#pragma once

#include <cstddef>

#include "sluice/abi/affinity.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

// Passes clients to a sink in batches, because there may be hundreds of thousands. The strings of their keys must stay
// valid until flush() or the destructor.
class AffinityBatch {
 public:
  // `sink` must outlive this object.
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
