// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/inotify.hpp"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace sluice::lib {

int Inotify::open() noexcept {
  inotify_ = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  return inotify_.valid() ? 0 : errno;
}

int Inotify::add(const std::string& path, std::uint32_t mask) const noexcept {
  const int watch = ::inotify_add_watch(inotify_.get(), path.c_str(), mask);
  return watch >= 0 ? watch : -errno;
}

void Inotify::remove(int watch) const noexcept { ::inotify_rm_watch(inotify_.get(), watch); }

bool Inotify::drain(const std::function<bool(const Event&)>& concerns) const {
  alignas(inotify_event) char buffer[16384];
  bool concerned = false;
  for (;;) {
    const ssize_t size = ::read(inotify_.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return concerned;
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      at += static_cast<ssize_t>(sizeof *event + event->len);
      if ((event->mask & IN_Q_OVERFLOW) != 0) {
        concerned = true;
        continue;
      }
      // The name is padded with NUL.
      const std::string_view name = event->len > 0 ? event->name : std::string_view();
      if (concerns({event->wd, event->mask, name})) concerned = true;
    }
  }
}

}  // namespace sluice::lib
