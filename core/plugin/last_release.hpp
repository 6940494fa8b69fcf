// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The release of the last reference to a plugin, as an event. It replaces the question how
// many references are left, which is out of date as soon as it is answered.
//
// Ownership: share() moves the plugin behind references that are counted. When the last one
// is released, the plugin moves to the thread that waits in take(), which destroys it, and
// so unmaps its library. If no thread waits, the releasing thread destroys it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

namespace sluice::plugin {

class Plugin;

class LastRelease {
 public:
  LastRelease() = default;
  LastRelease(const LastRelease&) = delete;
  LastRelease& operator=(const LastRelease&) = delete;
  ~LastRelease();

  // References to `plugin`; the release of the last one is signalled to `signal`.
  static std::shared_ptr<const Plugin> share(std::unique_ptr<const Plugin> plugin, std::shared_ptr<LastRelease> signal);

  // Releases `reference` and waits until no other one is left, `limit` at most. Returns the
  // plugin, which the caller destroys; null if the limit has expired. Then the thread that
  // releases the last reference destroys the plugin and calls `late` (may be empty, must
  // not throw).
  // Any thread, one at a time. REQUIRES: `reference` is one of share() with this signal.
  std::unique_ptr<const Plugin> take(std::shared_ptr<const Plugin> reference, std::chrono::milliseconds limit,
                                     std::function<void()> late);

 private:
  // [any thread] By the last reference, once.
  void released(std::unique_ptr<const Plugin> plugin) noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool awaited_ = false;                // under mutex_: a thread waits in take()
  std::unique_ptr<const Plugin> last_;  // under mutex_: for the thread that waits
  std::function<void()> late_;          // under mutex_
};

}  // namespace sluice::plugin
