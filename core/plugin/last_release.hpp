// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Signals the release of the last reference to a plugin. A reference count would be stale as soon as it is read.
//
// Ownership: share() returns a counted reference. When the last one is released, the plugin moves to the thread that
// waits in take(), which destroys it and thereby unmaps its library. If no thread waits, the releasing thread destroys
// it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "lib/mutex.hpp"

namespace sluice::plugin {

class Plugin;

class LastRelease {
 public:
  LastRelease() = default;
  LastRelease(const LastRelease&) = delete;
  LastRelease& operator=(const LastRelease&) = delete;
  ~LastRelease();

  // Returns a reference to `plugin`; the release of the last one is reported to `signal`.
  static std::shared_ptr<const Plugin> share(std::unique_ptr<const Plugin> plugin, std::shared_ptr<LastRelease> signal);

  // Releases `reference` and waits, for at most `limit`, until no other reference is left. Returns the plugin, which
  // the caller must destroy, or null if the timeout expired. Then the thread that releases the last reference destroys
  // the plugin and calls `late` (may be empty, must not throw). Any thread, one at a time. REQUIRES: `reference` was
  // returned by share() with this signal.
  std::unique_ptr<const Plugin> take(std::shared_ptr<const Plugin> reference, std::chrono::milliseconds limit,
                                     std::function<void()> late);

 private:
  // [any thread] Called once, by the deleter of the last reference.
  void released(std::unique_ptr<const Plugin> plugin) noexcept;

  lib::Mutex mutex_;
  lib::ConditionVariable changed_;
  bool awaited_ SLUICE_GUARDED_BY(mutex_) = false;                // a thread waits in take()
  std::unique_ptr<const Plugin> last_ SLUICE_GUARDED_BY(mutex_);  // for the thread that waits
  std::function<void()> late_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::plugin
