// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The running settings. A reader holds the pointer during its work, so that it uses one consistent configuration. Any
// thread.
#pragma once

#include <memory>
#include <utility>

#include "core/config/settings.hpp"
#include "lib/mutex.hpp"

namespace sluice::config {

class SettingsCell {
 public:
  explicit SettingsCell(Settings settings) : settings_(std::make_shared<const Settings>(std::move(settings))) {}

  std::shared_ptr<const Settings> get() const {
    const lib::Lock lock(mutex_);
    return settings_;
  }
  void set(std::shared_ptr<const Settings> settings) {
    const lib::Lock lock(mutex_);
    settings_ = std::move(settings);
  }

 private:
  mutable lib::Mutex mutex_;
  std::shared_ptr<const Settings> settings_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::config
