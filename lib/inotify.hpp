// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Notifications of the kernel about changes of files and folders.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "lib/fd.hpp"

namespace sluice::lib {

// Not thread-safe.
class Inotify {
 public:
  struct Event {
    int watch = -1;
    std::uint32_t mask = 0;
    std::string_view name{};  // in the watched folder; empty: the event is about the watched file or folder itself
  };

  // 0 or an errno.
  [[nodiscard]] int open() noexcept;
  bool valid() const noexcept { return inotify_.valid(); }
  // Readable while events are pending; -1 before open(), which poll() skips.
  int descriptor() const noexcept { return inotify_.get(); }

  // A watch, or a negative errno. A path that leads to a watched file or folder has the same watch.
  [[nodiscard]] int add(const std::string& path, std::uint32_t mask) const noexcept;
  void remove(int watch) const noexcept;

  // Passes all pending events to `concerns`. Returns whether it returned true for one of them, or the kernel has dropped
  // events: any of those may concern the caller.
  bool drain(const std::function<bool(const Event&)>& concerns) const;

 private:
  Fd inotify_;
};

}  // namespace sluice::lib
