// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/events/event_recorder.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/kube/events/event_writer.hpp"

namespace sluice::kube {
namespace {

// The maximum Retry-After that is honoured.
constexpr std::chrono::minutes kMaxEventRetryAfter{2};

std::string named(const ClusterEvent& event) {
  const Regarding& about = event.regarding;
  return event.reason + " on " + about.kind + " " + (about.name_space.empty() ? "" : about.name_space + "/") + about.name;
}

}  // namespace

EventRecorder::EventRecorder(EventRecorderOptions options, const lib::Clock& clock)
    : options_(std::move(options)), clock_(clock), bucket_(options_.qps, options_.burst, clock.now()) {}

EventRecorder::~EventRecorder() { stop(); }

void EventRecorder::record(ClusterEvent event) {
  bool first_dropped = false;
  if (base::log_enabled(base::message::kEventRecorded)) {
    base::log(base::message::kEventRecorded, named(event) + ": " + event.note, {{"reason", event.reason}});
  }
  {
    const lib::Lock lock(mutex_);
    if (closing_) return;
    queue_.push_back(std::move(event));
    if (queue_.size() > options_.queue) {
      queue_.pop_front();
      ++statistics_.dropped;
      first_dropped = !std::exchange(overflowed_, true);
    }
  }
  changed_.notify_all();
  if (first_dropped) {
    base::log(base::message::kEventsDropped,
              "more than " + std::to_string(options_.queue) + " events wait for the API server; the oldest are dropped",
              {{"count", options_.queue}});
  }
}

void EventRecorder::start(Transport* transport) {
  {
    const lib::Lock lock(mutex_);
    transport_ = transport;
  }
  thread_ = std::thread([this] { run(); });
}

void EventRecorder::set_transport(Transport* transport) {
  const lib::Lock lock(mutex_);
  // First, so that no further request uses the old transport.
  transport_ = transport;
  while (sending_) changed_.wait(mutex_);
}

void EventRecorder::drain(lib::Clock::Duration at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  const lib::Lock lock(mutex_);
  closing_ = true;
  changed_.notify_all();
  if (!thread_.joinable()) return;
  while ((!queue_.empty() || busy_) && changed_.wait_until(mutex_, until)) {
  }
  queue_.clear();
}

void EventRecorder::stop() {
  {
    const lib::Lock lock(mutex_);
    closing_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

EventStatistics EventRecorder::statistics() const {
  const lib::Lock lock(mutex_);
  return statistics_;
}

void EventRecorder::run() {
  lib::UniqueLock lock(mutex_);
  for (;;) {
    const auto due = series_.next_due();
    const bool none_due = due == lib::Clock::Time::max();
    const auto until =
        std::chrono::steady_clock::now() +
        (none_due ? lib::Clock::Duration::zero() : std::max(due - clock_.now(), lib::Clock::Duration::zero()));
    while (!closing_ && queue_.empty()) {
      if (none_due) {
        changed_.wait(mutex_);
      } else if (!changed_.wait_until(mutex_, until)) {
        break;
      }
    }
    if (queue_.empty() && closing_) break;

    std::vector<EventWrite> writes;
    if (queue_.empty()) {
      writes = series_.due(clock_.now());
    } else {
      const ClusterEvent event = std::move(queue_.front());
      queue_.pop_front();
      if (transport_ != nullptr) {
        if (auto write = series_.note(event, std::chrono::system_clock::now(), clock_.now())) writes.push_back(*write);
      }
      if (queue_.empty()) overflowed_ = false;
    }
    busy_ = true;
    lock.unlock();
    for (const EventWrite& write : writes) write_with_retries(write);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void EventRecorder::write_with_retries(const EventWrite& write) {
  {
    const lib::Lock lock(mutex_);
    pause(bucket_.take(clock_.now()));
  }
  EventAttempt attempt;
  auto wait = options_.pause;
  for (int attempts = 1;; ++attempts) {
    lib::UniqueLock lock(mutex_);
    Transport* const transport = transport_;
    if (transport == nullptr) return;  // replaced meanwhile by no API server
    sending_ = true;
    lock.unlock();
    const EventAnswer answer = write_event(*transport, write, attempt, options_.node_name);
    lock.lock();
    sending_ = false;
    changed_.notify_all();
    if (answer.result == EventResult::written) {
      ++statistics_.written;
      // After a success, a delay is logged again; an event that was given up is not.
      std::erase_if(logged_, [](const auto& entry) { return !entry.second; });
      return;
    }
    attempt.again = answer.asks_for_retry();
    if (answer.result == EventResult::gone && !attempt.recreate) {
      attempt.recreate = true;
      continue;
    }
    const bool last = answer.result != EventResult::try_later || attempts >= options_.tries;
    if (!last && !closing_) {
      // Logged after the second attempt: a single failure is not worth a line.
      if (attempts == 2) log_once(answer.status, false, "events wait: " + answer.sentence);
      const auto asked = std::min<std::chrono::milliseconds>(answer.retry_after.value_or(std::chrono::seconds(0)),
                                                             kMaxEventRetryAfter);
      if (pause(std::max(wait, asked))) {
        wait = std::min(2 * wait, options_.longest_pause);
        continue;
      }
    }
    ++statistics_.failed;
    if (closing_) {
      queue_.clear();  // further events would fail, too
      return;
    }
    if (write.count == 1) series_.forget(write.event);
    log_once(answer.status, true, "event " + named(write.event) + " is given up: " + answer.sentence);
    return;
  }
}

// Returns false if drain() or stop() was called meanwhile.
bool EventRecorder::pause(lib::Clock::Duration time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (!closing_ && changed_.wait_until(mutex_, until)) {
  }
  return !closing_;
}

void EventRecorder::log_once(int status, bool given_up, const std::string& message) {
  if (logged_.emplace(status, given_up).second) base::log(base::message::kEventFailed, message, {{"status", status}});
}

}  // namespace sluice::kube
