// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/event_loop.hpp"

#include <cerrno>
#include <ctime>
#include <new>
#include <system_error>
#include <utility>

namespace sluice::userspace {
namespace {

void throw_on(int failure, const char* what) {
  if (failure != 0) throw std::system_error(failure, std::system_category(), what);
}

}  // namespace

Nanoseconds EventLoop::clock() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Nanoseconds>(now.tv_sec) * 1'000'000'000 + static_cast<Nanoseconds>(now.tv_nsec);
}

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), now_(clock()) {
  throw_on(epoll_.valid() ? 0 : errno, "epoll_create1");
  throw_on(wake_up_.open(), "eventfd");
  throw_on(add(wake_up_.descriptor(), EPOLLIN, &on_wake_up_), "epoll_ctl");
}

EventLoop::~EventLoop() { free_retired(); }

int EventLoop::add(int fd, std::uint32_t events, EventHandler* handler) noexcept {
  std::uint32_t slot = free_slots_;
  if (slot == kNoSlot) {
    try {
      slots_.emplace_back();
    } catch (const std::bad_alloc&) {
      return ENOMEM;
    }
    slot = static_cast<std::uint32_t>(slots_.size() - 1);
  } else {
    free_slots_ = slots_[slot].next_free;
  }
  epoll_event event{};
  event.events = events;
  event.data.u64 = std::uint64_t{slots_[slot].generation} << 32 | slot;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    const int failure = errno;
    forget(slot);
    return failure;
  }
  if (handler->loop_ != nullptr) forget(handler->slot_);
  slots_[slot].handler = handler;
  handler->loop_ = this;
  handler->slot_ = slot;
  return 0;
}

void EventLoop::forget(std::uint32_t slot) noexcept {
  Slot& forgotten = slots_[slot];
  forgotten.handler = nullptr;
  ++forgotten.generation;
  forgotten.next_free = free_slots_;
  free_slots_ = slot;
}

void EventLoop::deliver(const epoll_event& event) noexcept {
  const Slot& slot = slots_[static_cast<std::uint32_t>(event.data.u64)];
  if (slot.handler == nullptr || slot.generation != event.data.u64 >> 32) return;
  slot.handler->on_events(event.events);
}

void EventLoop::remove(int fd) noexcept { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void EventLoop::arm(Timer& timer, Nanoseconds deadline) noexcept {
  if (timer.is_linked()) timer.unlink();
  timer.deadline_ = deadline;
  timers_.insert(timer);
}

void EventLoop::retire(std::unique_ptr<Retired> object) noexcept {
  object->next_retired_ = retired_;
  retired_ = object.release();
}

void EventLoop::free_retired() noexcept {
  while (retired_ != nullptr) {
    const std::unique_ptr<Retired> object(retired_);
    retired_ = object->next_retired_;
  }
}

void EventLoop::post(std::function<void()> work) {
  bool first = false;
  {
    const lib::Lock lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(work));
  }
  if (!first) return;  // already woken
  wake_up_.signal();
}

void EventLoop::stop() {
  post([this] { stopping_ = true; });
}

void EventLoop::OnWakeUp::on_events(std::uint32_t) noexcept {
  loop.wake_up_.drain();
  loop.run_posted();
}

void EventLoop::run_posted() noexcept {
  {
    const lib::Lock lock(mutex_);
    running_.swap(posted_);
  }
  for (auto& work : running_) work();
  running_.clear();
}

void EventLoop::run_timers() noexcept {
  while (!timers_.empty() && timers_.begin()->deadline() <= now_) {
    Timer& due = *timers_.begin();
    due.unlink();
    due.on_timer();
  }
}

int EventLoop::epoll_timeout() const noexcept {
  if (timers_.empty()) return -1;
  const Nanoseconds next = timers_.begin()->deadline();
  const Nanoseconds now = clock();
  if (next <= now) return 0;
  const Nanoseconds wait = (next - now + kMillisecond - 1) / kMillisecond;
  return wait > 3'600'000 ? 3'600'000 : static_cast<int>(wait);
}

void EventLoop::run() noexcept {
  std::array<epoll_event, kBatch> events;
  while (!stopping_) {
    const int count = epoll_wait(epoll_.get(), events.data(), kBatch, epoll_timeout());
    now_ = clock();
    for (int i = 0; i < count; ++i) {
      deliver(events[static_cast<std::size_t>(i)]);
    }
    run_timers();
    free_retired();
  }
}

}  // namespace sluice::userspace
