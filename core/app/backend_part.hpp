// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The part of a reload that concerns who programs the node and what it is told of the node:
// another backend, other settings or another file of the same one, periods, addresses, the
// detector of local traffic. The last to prepare: a swap is not taken back for others.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/app/backends.hpp"
#include "core/app/reload/part.hpp"

namespace sluice::app {

class BackendPart final : public ReloadPart {
 public:
  struct Callbacks {
    // Settings that cannot work on this node.
    std::function<base::Status(const Settings&)> check;
    // Before a backend is fed that wants to be told of ServiceCIDRs, and after one is fed that does not.
    std::function<void(bool wanted, const Settings&)> service_cidrs;
    // What backends are told about the node is computed anew, with the settings in force.
    std::function<void()> refresh;
  };

  BackendPart(Backends& backends, Callbacks callbacks) : backends_(backends), callbacks_(std::move(callbacks)) {}

  bool concerned(const Settings& from, const Settings& to) const override;
  base::Status prepare(const Settings& from, const Settings& to) override;
  Committed commit() override;
  void abandon() override;

  // [any thread] The settings a newcomer is told the node by while it arrives; null: nobody arrives.
  std::shared_ptr<const Settings> coming() const {
    const std::lock_guard lock(mutex_);
    return coming_;
  }

 private:
  void set_coming(std::shared_ptr<const Settings> settings);

  Backends& backends_;
  const Callbacks callbacks_;
  std::optional<Settings> to_;
  std::optional<swap::SwapResult> swapped_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Settings> coming_;  // under mutex_
};

}  // namespace sluice::app
