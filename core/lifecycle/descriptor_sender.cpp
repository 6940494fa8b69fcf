// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/descriptor_sender.hpp"

#include <poll.h>
#include <string.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/lifecycle/holder_message.hpp"

namespace sluice::lifecycle {
namespace {

using std::chrono::milliseconds;

// A running store makes room within microseconds; a restarting one needs longer.
constexpr milliseconds kPollTimeout{20};
constexpr milliseconds kFirstRetryInterval{50};
constexpr milliseconds kMaxRetryInterval{5000};

lib::Clock::Time now() { return lib::SteadyClock().now(); }

}  // namespace

DescriptorSender::DescriptorSender(std::unique_ptr<StoreLink> link, Owner& owner)
    : link_(std::move(link)), owner_(owner) {}

DescriptorSender::~DescriptorSender() { stop(milliseconds(0)); }

void DescriptorSender::watch() {
  const lib::Lock lock(mutex_);
  if (thread_.joinable()) return;  // it has the link, and watches it
  if (link_ != nullptr && link_->answers() && link_->socket() >= 0) start_thread();
}

void DescriptorSender::changed(const std::string& name) {
  const lib::Lock lock(mutex_);
  if (link_ == nullptr || stopping_ || !queued_.insert(name).second) return;
  queue_.push_back(name);
  start_thread();
  wake_.signal();
}

void DescriptorSender::start_thread() {
  if (thread_.joinable()) return;
  // Without an eventfd the thread waits by polling.
  std::ignore = wake_.open();
  thread_ = std::thread([this] { run(); });
}

void DescriptorSender::stop(milliseconds timeout) {
  std::thread ended;
  {
    const lib::Lock lock(mutex_);
    if (!stopping_) deadline_ = now() + timeout;
    stopping_ = true;
    ended = std::move(thread_);
    if (wake_.valid()) wake_.signal();
  }
  if (ended.joinable()) ended.join();
}

std::size_t DescriptorSender::pending() const {
  const lib::Lock lock(mutex_);
  return queue_.size() + sending_;
}

void DescriptorSender::run() {
  while (const auto name = next()) {
    if (!update(*name)) return;  // stopped
  }
}

std::optional<std::string> DescriptorSender::next() {
  for (;;) {
    {
      const lib::Lock lock(mutex_);
      sending_ = 0;
      if (stopping_ && (queue_.empty() || now() >= deadline_)) break;
      if (!queue_.empty()) {
        std::string name = std::move(queue_.front());
        queue_.pop_front();
        queued_.erase(name);
        sending_ = 1;
        return name;
      }
    }
    link_->settled();
    wait_idle();
  }
  link_->settled();
  return std::nullopt;
}

void DescriptorSender::wait_idle() {
  pollfd events[] = {{wake_.descriptor(), POLLIN, 0}, {link_->answers() ? link_->socket() : -1, POLLIN, 0}};
  ::poll(events, 2, wake_.valid() ? -1 : static_cast<int>(kPollTimeout.count()));
  if (wake_.valid()) wake_.drain();
  if (events[1].revents == 0 || link_->read() || stored_.empty()) return;
  base::log(base::message::kDescriptorStoreEnded, std::string("the ") + link_->name() + " has ended: starting it again");
  for (SendResult opened = open(); opened != SendResult::ok && pause(opened); opened = open()) {
  }
}

// False when the timeout of stop() has expired.
bool DescriptorSender::update(const std::string& name) {
  // The store may keep a second descriptor with the same name beside the first.
  if (stored_.contains(name)) {
    if (!send_with_retry(link_->remove_message(name), -1)) return false;
    stored_.erase(name);
  }
  const lib::Fd fd = owner_.current(name);
  if (!fd.valid()) {
    owner_.removed(name);
    return true;
  }
  stored_.insert(name);
  return send_with_retry(link_->store_message(name), fd.get());
}

bool DescriptorSender::send_with_retry(const std::string& payload, int fd) {
  for (;;) {
    const SendResult sent = send(payload, fd);
    if (sent == SendResult::ok || sent == SendResult::refused) return true;
    if (!pause(sent)) return false;
  }
}

DescriptorSender::SendResult DescriptorSender::open() {
  switch (link_->open()) {
    case StoreLink::Opened::failed:
      return SendResult::gone;
    case StoreLink::Opened::absent:
      return SendResult::absent;
    case StoreLink::Opened::same:
      return SendResult::ok;
    case StoreLink::Opened::empty:
      break;
  }
  retry_ = milliseconds(0);
  stored_.clear();
  for (const std::string& name : owner_.all()) {
    const lib::Lock lock(mutex_);
    if (queued_.insert(name).second) queue_.push_back(name);
  }
  return SendResult::ok;
}

DescriptorSender::SendResult DescriptorSender::send(const std::string& payload, int fd) {
  if (const SendResult opened = open(); opened != SendResult::ok) return opened;
  const int error = holding::send(link_->socket(), payload, fd);
  switch (error) {
    case 0:
      retry_ = milliseconds(0);
      return SendResult::ok;
    case EAGAIN:
    case EINTR:
    case ENOBUFS:
    case ENOMEM:
    case ETOOMANYREFS:  // too many descriptors are on their way
      return SendResult::full;
    case ECONNREFUSED:
    case ECONNRESET:
    case ENOTCONN:
    case EPIPE:
    case ENOENT:
      link_->close();
      return SendResult::gone;
    default: {
      const std::string text = strerror(error);
      base::log(base::message::kDescriptorSendFailed, std::string("cannot send a descriptor to the ") + link_->name() + ": " + text,
                {{"error", text}});
      return SendResult::refused;
    }
  }
}

// Waits before a retry; false when the timeout of stop() has expired.
bool DescriptorSender::pause(SendResult why) {
  if (timed_out()) return false;
  if (why == SendResult::full) {
    pollfd room{link_->socket(), POLLOUT, 0};
    ::poll(&room, 1, static_cast<int>(kPollTimeout.count()));
    return !timed_out();
  }
  if (!warned_ && why != SendResult::absent) {
    base::log(base::message::kDescriptorStoreUnreachable,
              std::string("cannot reach the ") + link_->name() +
                  " to store descriptors: retrying; until then, they are lost when this process ends");
    warned_ = true;
  }
  retry_ = std::clamp(retry_ * 2, kFirstRetryInterval, kMaxRetryInterval);
  const auto until = now() + retry_;
  for (;;) {
    {
      // stop() does not wait for a store that is gone.
      const lib::Lock lock(mutex_);
      if (stopping_) return false;
    }
    const auto left = std::chrono::ceil<milliseconds>(until - now()).count();
    if (left <= 0) return true;
    pollfd change{wake_.descriptor(), POLLIN, 0};
    ::poll(&change, 1, static_cast<int>(std::min<long long>(left, wake_.valid() ? left : kPollTimeout.count())));
    if (wake_.valid()) wake_.drain();
  }
}

bool DescriptorSender::timed_out() {
  const lib::Lock lock(mutex_);
  return stopping_ && now() >= deadline_;
}

}  // namespace sluice::lifecycle
