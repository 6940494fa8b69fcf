// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "relaycheck_loop.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace relaycheck {

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.valid()) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

void Loop::watch(int fd, std::uint32_t events, Handler& handler, bool fresh) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &handler;
  if (epoll_ctl(epoll_.get(), fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

void Loop::remove(int fd, Handler& handler) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  removed_.insert(&handler);
}

void Loop::set_deadline(Handler& handler, Clock::time_point& current, Clock::time_point at) {
  if (current == at) return;
  deadlines_.erase({current, &handler});
  current = at;
  if (at != Clock::time_point::max()) deadlines_.insert({at, &handler});
}

void Loop::run() {
  stopped_ = false;
  std::array<epoll_event, 256> events;
  while (!stopped_ && !stop_requested) {
    auto timeout = std::chrono::milliseconds(200);  // a signal may arrive just before epoll_wait
    if (!deadlines_.empty()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadlines_.begin()->first - Clock::now());
      timeout = std::clamp(left, std::chrono::milliseconds(0), timeout);
    }
    const int count =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), static_cast<int>(timeout.count()));
    now_ = Clock::now();
    removed_.clear();
    for (int i = 0; i < count; ++i) {
      auto* handler = static_cast<Handler*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (!removed_.contains(handler)) handler->on_events(events[static_cast<std::size_t>(i)].events);
    }
    run_deadlines();
    retired_.clear();
  }
}

void Loop::run_deadlines() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ && !stopped_) {
    deadlines_.begin()->second->on_deadline();  // moves or removes its deadline
  }
}

}  // namespace relaycheck
