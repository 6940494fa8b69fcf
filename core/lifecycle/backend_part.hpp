// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The reload part for the backend and the node facts it receives: backend id, options and
// plugin file, sync periods, addresses, the local traffic detector. Prepares last, because a
// swap is not rolled back when another part fails.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/lifecycle/backends.hpp"
#include "core/reload/part.hpp"

namespace sluice::lifecycle {

class BackendPart final : public reload::ReloadPart {
 public:
  struct Callbacks {
    // Fails for settings that cannot work on this node.
    std::function<lib::Status(const config::Settings&)> check;
    // Called with true before a backend that needs ServiceCIDRs subscribes, and with false after a backend that does
    // not need them has subscribed.
    std::function<void(bool wanted, const config::Settings&)> service_cidrs;
    // Recomputes the node facts with the active settings.
    std::function<void()> refresh;
  };

  BackendPart(Backends& backends, Callbacks callbacks) : backends_(backends), callbacks_(std::move(callbacks)) {}

  bool concerned(const config::Settings& from, const config::Settings& to) const override;
  lib::Status prepare(const config::Settings& from, const config::Settings& to) override;
  reload::Committed commit() override;
  void abandon() override;

  // [any thread] The settings that determine the node facts of the new backend during a swap; null when no swap is in
  // progress.
  std::shared_ptr<const config::Settings> swap_settings() const {
    const std::lock_guard lock(mutex_);
    return swap_settings_;
  }

 private:
  void set_swap_settings(std::shared_ptr<const config::Settings> settings);

  Backends& backends_;
  const Callbacks callbacks_;
  std::optional<config::Settings> to_;
  std::optional<SwapResult> swapped_;
  mutable std::mutex mutex_;
  std::shared_ptr<const config::Settings> swap_settings_;  // under mutex_
};

}  // namespace sluice::lifecycle
