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

#include "core/base/log.hpp"

namespace sluice::lifecycle {
namespace {

using std::chrono::milliseconds;

// A manager that reads has room again within microseconds; one that is being restarted takes its time.
constexpr milliseconds kLookAgain{20};
constexpr milliseconds kFirstRetry{50};
constexpr milliseconds kLongestRetry{5000};

base::Clock::Time now() { return base::SteadyClock().now(); }

}  // namespace

DescriptorSender::DescriptorSender(std::vector<char> manager, Callbacks callbacks)
    : manager_(std::move(manager)), callbacks_(std::move(callbacks)) {}

DescriptorSender::~DescriptorSender() { stop(milliseconds(0)); }

void DescriptorSender::changed(const std::string& name) {
  if (manager_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || !queued_.insert(name).second) return;
    queue_.push_back(name);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  wake_.notify_all();
}

void DescriptorSender::stop(milliseconds at_most) {
  std::thread ended;
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) deadline_ = now() + at_most;
    stopping_ = true;
    ended = std::move(thread_);
  }
  wake_.notify_all();
  if (ended.joinable()) ended.join();
}

std::size_t DescriptorSender::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() + telling_;
}

void DescriptorSender::run() {
  for (;;) {
    std::string name;
    {
      std::unique_lock lock(mutex_);
      telling_ = 0;
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty() || (stopping_ && now() >= deadline_)) return;
      name = std::move(queue_.front());
      queue_.pop_front();
      queued_.erase(name);
      telling_ = 1;
    }
    if (!tell(name)) return;  // stopped: what is left stays untold
  }
}

// False when it was given up, as the time is over.
bool DescriptorSender::tell(const std::string& name) {
  // A second one of that name would stand beside the first.
  if (told_.contains(name)) {
    if (!deliver("FDSTOREREMOVE=1\nFDNAME=" + name, -1)) return false;
    told_.erase(name);
  }
  const base::Fd fd = callbacks_.current(name);
  if (!fd.valid()) {
    callbacks_.removed(name);
    return true;
  }
  told_.insert(name);
  // Without FDPOLL=0 the manager lets go of a descriptor on which there is an error, or a hang-up.
  return deliver("FDSTORE=1\nFDPOLL=0\nFDNAME=" + name, fd.get());
}

bool DescriptorSender::deliver(const std::string& words, int fd) {
  for (;;) {
    const Sent sent = send(words, fd);
    if (sent == Sent::yes || sent == Sent::refused) return true;
    if (!pause(sent)) return false;
  }
}

DescriptorSender::Sent DescriptorSender::send(const std::string& words, int fd) {
  if (!socket_.valid()) {
    // Connected, so that poll() says when there is room.
    base::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid() || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(manager_.data()),
                                     static_cast<socklen_t>(manager_.size())) != 0) {
      return Sent::gone;
    }
    socket_ = std::move(socket);
  }
  iovec text{const_cast<char*>(words.data()), words.size()};
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
    return Sent::yes;
  }
  switch (errno) {
    case EAGAIN:
    case EINTR:
    case ENOBUFS:
    case ENOMEM:
    case ETOOMANYREFS:  // too many descriptors are on their way
      return Sent::full;
    case ECONNREFUSED:
    case ECONNRESET:
    case ENOTCONN:
    case EPIPE:
    case ENOENT:
      socket_.reset();
      return Sent::gone;
    default:
      base::log_warning("app", std::string("the service manager cannot be told of a descriptor: ") + strerror(errno));
      return Sent::refused;
  }
}

// Until it may be tried again; false when the time is over.
bool DescriptorSender::pause(Sent why) {
  if (over()) return false;
  if (why == Sent::full) {
    pollfd room{socket_.get(), POLLOUT, 0};
    ::poll(&room, 1, static_cast<int>(kLookAgain.count()));
    return !over();
  }
  if (!warned_) {
    base::log_warning("app",
                      "the service manager does not take descriptors; what is kept ends with this process until "
                      "it does");
    warned_ = true;
  }
  retry_ = std::clamp(retry_ * 2, kFirstRetry, kLongestRetry);
  std::unique_lock lock(mutex_);
  // Nobody waits at the end for a manager that is gone.
  return !wake_.wait_for(lock, retry_, [this] { return stopping_; });
}

bool DescriptorSender::over() {
  const std::lock_guard lock(mutex_);
  return stopping_ && now() >= deadline_;
}

}  // namespace sluice::lifecycle
