// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/config_watch.hpp"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace sluice::app {
namespace {

base::Status failed(const std::string& file) {
  return {base::StatusCode::unavailable, "cannot watch the configuration file " + file + " for changes: " +
                                             strerror(errno) + "; see fs.inotify.max_user_instances"};
}

}  // namespace

ConfigWatch::~ConfigWatch() { stop(); }

base::Status ConfigWatch::start(const std::string& file, std::function<void()> changed) {
  notifications_ = base::Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  wake_ = base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!notifications_.valid() || !wake_.valid()) return failed(file);
  if (::inotify_add_watch(notifications_.get(), file.c_str(), IN_MODIFY | IN_MOVE_SELF) < 0) return failed(file);
  thread_ = std::thread([this, changed = std::move(changed)] { run(changed); });
  return {};
}

void ConfigWatch::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  // Cannot fail: the counter is far from its end.
  if (::write(wake_.get(), &one, sizeof one) != sizeof one) return;
  thread_.join();
}

void ConfigWatch::run(const std::function<void()>& changed) const {
  alignas(inotify_event) char buffer[4096];
  for (;;) {
    pollfd waiting[] = {{notifications_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    const ssize_t size = ::read(notifications_.get(), buffer, sizeof buffer);
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      if ((event->mask & (IN_MODIFY | IN_MOVE_SELF)) != 0) return changed();
      at += static_cast<ssize_t>(sizeof *event + event->len);
    }
    if (waiting[1].revents != 0) return;
  }
}

}  // namespace sluice::app
