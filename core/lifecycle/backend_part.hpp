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

#include "core/lifecycle/backends.hpp"
#include "core/reload/part.hpp"

namespace sluice::lifecycle {

class BackendPart final : public reload::ReloadPart {
 public:
  struct Callbacks {
    // Settings that cannot work on this node.
    std::function<base::Status(const config::Settings&)> check;
    // Before a backend is fed that wants to be told of ServiceCIDRs, and after one is fed that does not.
    std::function<void(bool wanted, const config::Settings&)> service_cidrs;
    // What backends are told about the node is computed anew, with the settings in force.
    std::function<void()> refresh;
  };

  BackendPart(Backends& backends, Callbacks callbacks) : backends_(backends), callbacks_(std::move(callbacks)) {}

  bool concerned(const config::Settings& from, const config::Settings& to) const override;
  base::Status prepare(const config::Settings& from, const config::Settings& to) override;
  reload::Committed commit() override;
  void abandon() override;

  // [any thread] The settings a newcomer is told the node by while it arrives; null: nobody arrives.
  std::shared_ptr<const config::Settings> coming() const {
    const std::lock_guard lock(mutex_);
    return coming_;
  }

 private:
  void set_coming(std::shared_ptr<const config::Settings> settings);

  Backends& backends_;
  const Callbacks callbacks_;
  std::optional<config::Settings> to_;
  std::optional<SwapResult> swapped_;
  mutable std::mutex mutex_;
  std::shared_ptr<const config::Settings> coming_;  // under mutex_
};

}  // namespace sluice::lifecycle
