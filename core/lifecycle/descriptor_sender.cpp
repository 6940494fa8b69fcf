// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/descriptor_sender.hpp"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/log_messages.hpp"

namespace sluice::lifecycle {
namespace {

using std::chrono::milliseconds;

// A running manager makes room within microseconds; a restarting one needs longer.
constexpr milliseconds kPollTimeout{20};
constexpr milliseconds kFirstRetryInterval{50};
constexpr milliseconds kMaxRetryInterval{5000};

lib::Clock::Time now() { return lib::SteadyClock().now(); }

}  // namespace

DescriptorSender::DescriptorSender(std::vector<char> manager, Owner& owner)
    : manager_(std::move(manager)), owner_(owner) {}

DescriptorSender::~DescriptorSender() { stop(milliseconds(0)); }

void DescriptorSender::changed(const std::string& name) {
  if (manager_.empty()) return;
  {
    const lib::Lock lock(mutex_);
    if (stopping_ || !queued_.insert(name).second) return;
    queue_.push_back(name);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  wake_.notify_all();
}

void DescriptorSender::stop(milliseconds timeout) {
  std::thread ended;
  {
    const lib::Lock lock(mutex_);
    if (!stopping_) deadline_ = now() + timeout;
    stopping_ = true;
    ended = std::move(thread_);
  }
  wake_.notify_all();
  if (ended.joinable()) ended.join();
}

std::size_t DescriptorSender::pending() const {
  const lib::Lock lock(mutex_);
  return queue_.size() + sending_;
}

void DescriptorSender::run() {
  for (;;) {
    std::string name;
    {
      const lib::Lock lock(mutex_);
      sending_ = 0;
      while (!stopping_ && queue_.empty()) wake_.wait(mutex_);
      if (queue_.empty() || (stopping_ && now() >= deadline_)) return;
      name = std::move(queue_.front());
      queue_.pop_front();
      queued_.erase(name);
      sending_ = 1;
    }
    if (!update(name)) return;  // stopped
  }
}

// False when the timeout of stop() has expired.
bool DescriptorSender::update(const std::string& name) {
  // The manager would keep a second descriptor with the same name beside the first.
  if (stored_.contains(name)) {
    if (!send_with_retry("FDSTOREREMOVE=1\nFDNAME=" + name, -1)) return false;
    stored_.erase(name);
  }
  const lib::Fd fd = owner_.current(name);
  if (!fd.valid()) {
    owner_.removed(name);
    return true;
  }
  stored_.insert(name);
  // Without FDPOLL=0 the manager drops a descriptor with EPOLLERR or EPOLLHUP.
  return send_with_retry("FDSTORE=1\nFDPOLL=0\nFDNAME=" + name, fd.get());
}

bool DescriptorSender::send_with_retry(const std::string& payload, int fd) {
  for (;;) {
    const SendResult sent = send(payload, fd);
    if (sent == SendResult::ok || sent == SendResult::refused) return true;
    if (!pause(sent)) return false;
  }
}

DescriptorSender::SendResult DescriptorSender::send(const std::string& payload, int fd) {
  if (!socket_.valid()) {
    // Connected, so that poll() reports when there is room.
    lib::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid() || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(manager_.data()),
                                     static_cast<socklen_t>(manager_.size())) != 0) {
      return SendResult::gone;
    }
    socket_ = std::move(socket);
  }
  iovec text{const_cast<char*>(payload.data()), payload.size()};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0) {
    retry_ = milliseconds(0);
    return SendResult::ok;
  }
  switch (errno) {
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
      socket_.reset();
      return SendResult::gone;
    default: {
      const std::string error = strerror(errno);
      base::log(base::message::kDescriptorSendFailed, "cannot send a descriptor to the service manager: " + error,
                {{"error", error}});
      return SendResult::refused;
    }
  }
}

// Waits before a retry; false when the timeout of stop() has expired.
bool DescriptorSender::pause(SendResult why) {
  if (timed_out()) return false;
  if (why == SendResult::full) {
    pollfd room{socket_.get(), POLLOUT, 0};
    ::poll(&room, 1, static_cast<int>(kPollTimeout.count()));
    return !timed_out();
  }
  if (!warned_) {
    base::log(base::message::kDescriptorStoreUnreachable,
              "cannot reach the service manager to store descriptors: retrying; until then, they are lost "
              "when this process ends");
    warned_ = true;
  }
  retry_ = std::clamp(retry_ * 2, kFirstRetryInterval, kMaxRetryInterval);
  const auto until = now() + retry_;
  const lib::Lock lock(mutex_);
  // stop() does not wait for a manager that is gone.
  while (!stopping_ && wake_.wait_until(mutex_, until)) {
  }
  return !stopping_;
}

bool DescriptorSender::timed_out() {
  const lib::Lock lock(mutex_);
  return stopping_ && now() >= deadline_;
}

}  // namespace sluice::lifecycle
