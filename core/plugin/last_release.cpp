// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/last_release.hpp"

#include <utility>

#include "core/plugin/loader.hpp"

namespace sluice::plugin {

LastRelease::~LastRelease() = default;

std::shared_ptr<const Plugin> LastRelease::share(std::unique_ptr<const Plugin> plugin,
                                                 std::shared_ptr<LastRelease> signal) {
  const auto deleter = [signal = std::move(signal)](const Plugin* last) {
    signal->released(std::unique_ptr<const Plugin>(last));
  };
  return {plugin.release(), deleter};  // calls the deleter if it throws
}

std::unique_ptr<const Plugin> LastRelease::take(std::shared_ptr<const Plugin> reference,
                                                std::chrono::milliseconds limit, std::function<void()> late) {
  {
    const lib::Lock lock(mutex_);
    awaited_ = true;
    late_ = nullptr;
  }
  // This may be the last reference, whose deleter locks the mutex.
  reference.reset();
  const auto until = std::chrono::steady_clock::now() + limit;
  const lib::Lock lock(mutex_);
  while (last_ == nullptr && changed_.wait_until(mutex_, until)) {
  }
  awaited_ = false;
  if (last_ == nullptr) late_ = std::move(late);
  return std::move(last_);
}

void LastRelease::released(std::unique_ptr<const Plugin> plugin) noexcept {
  std::function<void()> late;
  {
    const lib::Lock lock(mutex_);
    if (awaited_) {
      last_ = std::move(plugin);
      changed_.notify_all();
      return;
    }
    late.swap(late_);
  }
  plugin.reset();
  if (late) late();
}

}  // namespace sluice::plugin
