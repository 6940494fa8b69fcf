// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/events/event_recorder.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log.hpp"
#include "core/kube/events/event_writer.hpp"

namespace sluice::kube {
namespace {

// Retry-After is honoured up to this.
constexpr std::chrono::minutes kMostAsked{2};

std::string named(const ClusterEvent& event) {
  const Regarding& about = event.regarding;
  return event.reason + " on " + about.kind + " " + (about.name_space.empty() ? "" : about.name_space + "/") + about.name;
}

}  // namespace

EventRecorder::EventRecorder(EventRecorderOptions options, const base::Clock& clock)
    : options_(std::move(options)), clock_(clock), bucket_(options_.qps, options_.burst, clock.now()) {}

EventRecorder::~EventRecorder() { stop(); }

void EventRecorder::record(ClusterEvent event) {
  bool first_dropped = false;
  if (base::log_enabled(base::LogLevel::debug, "events")) {
    base::log_debug("events", named(event) + ": " + event.note);
  }
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    queue_.push_back(std::move(event));
    if (queue_.size() > options_.queue) {
      queue_.pop_front();
      ++figures_.dropped;
      first_dropped = !std::exchange(overflowed_, true);
    }
  }
  changed_.notify_all();
  if (first_dropped) {
    base::log_warning("events", "more than " + std::to_string(options_.queue) +
                                    " events wait for the API server; the oldest are dropped");
  }
}

void EventRecorder::start(Transport* transport) {
  transport_ = transport;
  thread_ = std::thread([this] { run(); });
}

void EventRecorder::exchange(Transport* transport) {
  std::unique_lock lock(mutex_);
  // First, so that no other request begins on the old way.
  transport_ = transport;
  changed_.wait(lock, [this] { return !sending_; });
}

void EventRecorder::drain(base::Clock::Duration at_most) {
  std::unique_lock lock(mutex_);
  closing_ = true;
  changed_.notify_all();
  if (!thread_.joinable()) return;
  changed_.wait_for(lock, at_most, [this] { return queue_.empty() && !busy_; });
  queue_.clear();
}

void EventRecorder::stop() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

EventFigures EventRecorder::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

void EventRecorder::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto news = [this] { return closing_ || !queue_.empty(); };
    const auto due = series_.next_due();
    if (due == base::Clock::Time::max()) {
      changed_.wait(lock, news);
    } else {
      changed_.wait_for(lock, std::max(due - clock_.now(), base::Clock::Duration::zero()), news);
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
    for (const EventWrite& write : writes) carry_out(write);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void EventRecorder::carry_out(const EventWrite& write) {
  {
    std::unique_lock lock(mutex_);
    pause(lock, bucket_.take(clock_.now()));
  }
  EventTry how;
  auto wait = options_.pause;
  for (int tried = 1;; ++tried) {
    std::unique_lock lock(mutex_);
    Transport* const transport = transport_;
    if (transport == nullptr) return;  // exchanged meanwhile: nobody is there to be told
    sending_ = true;
    lock.unlock();
    const EventAnswer answer = write_event(*transport, write, how, options_.node_name);
    lock.lock();
    sending_ = false;
    changed_.notify_all();
    if (answer.fate == EventFate::written) {
      ++figures_.written;
      // What is refused for what it is stays said; what had to wait may be news again.
      std::erase_if(said_, [](const auto& said) { return !said.second; });
      return;
    }
    how.again = answer.asks_for_another_try();
    if (answer.fate == EventFate::gone && !how.recreate) {
      how.recreate = true;
      continue;
    }
    const bool last = answer.fate != EventFate::try_later || tried >= options_.tries;
    if (!last && !closing_) {
      // In the log at the second time: one failed try is nothing.
      if (tried == 2) say_once(answer.status, false, "events wait: " + answer.sentence);
      const auto asked = std::min<std::chrono::milliseconds>(answer.retry_after.value_or(std::chrono::seconds(0)), kMostAsked);
      if (pause(lock, std::max(wait, asked))) {
        wait = std::min(2 * wait, options_.longest_pause);
        continue;
      }
    }
    ++figures_.failed;
    if (closing_) {
      queue_.clear();  // the next ones would fare no better
      return;
    }
    if (write.count == 1) series_.forget(write.event);
    say_once(answer.status, true, "event " + named(write.event) + " is given up: " + answer.sentence);
    return;
  }
}

// False when the end has come meanwhile.
bool EventRecorder::pause(std::unique_lock<std::mutex>& lock, base::Clock::Duration time) {
  return !changed_.wait_for(lock, time, [this] { return closing_; });
}

void EventRecorder::say_once(int status, bool given_up, const std::string& sentence) {
  if (said_.emplace(status, given_up).second) base::log_warning("events", sentence);
}

}  // namespace sluice::kube
