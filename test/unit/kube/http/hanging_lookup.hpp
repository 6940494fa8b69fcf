// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A name server that does not respond until it is released, for HostResolver. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/kube/http/host_resolver.hpp"

namespace sluice::test {

class HangingLookup {
 public:
  HangingLookup() = default;
  HangingLookup(const HangingLookup&) = delete;
  HangingLookup& operator=(const HangingLookup&) = delete;
  ~HangingLookup() { release(); }

  // The first `hanging` lookups hang, later ones do not. The function owns its state.
  kube::HostResolver::Lookup function(std::size_t hanging = SIZE_MAX) const {
    return [shared = shared_, hanging](const std::string& host) -> kube::LookupResult {
      std::unique_lock lock(shared->mutex);
      shared->hosts.push_back(host);
      if (shared->hosts.size() <= hanging) shared->changed.wait(lock, [&] { return shared->released; });
      return {0, {*lib::IpAddress::parse("192.0.2.7")}};
    };
  }
  void release() {
    const std::lock_guard lock(shared_->mutex);
    shared_->released = true;
    shared_->changed.notify_all();
  }
  // The names that were looked up.
  std::vector<std::string> hosts() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->hosts;
  }
  // Whether all lookups have ended and released the function.
  bool unused() const { return shared_.use_count() == 1; }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool released = false;
    std::vector<std::string> hosts;
  };
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace sluice::test
