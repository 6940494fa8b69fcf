// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The connection tracking of a kernel: sends notifications and answers requests.
#pragma once

#include <cppunit/TestAssert.h>
#include <linux/netfilter/nfnetlink.h>
#include <netlink/msg.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lib/netlink/raw_socket.hpp"

namespace sluice::test {

// Its notifications, and the requests it received.
struct Tracking {
  std::mutex mutex;
  std::deque<std::pair<std::string, int>> events;  // bytes, or an errno
  std::vector<std::string> requests;
  int answer = 0;     // to each request
  int refusal = 0;    // errno of the subscription
  int listening = 0;  // open subscriptions
  int ready = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  ~Tracking() { ::close(ready); }
  void notify(std::string bytes, int error = 0) {
    {
      const std::lock_guard lock(mutex);
      events.emplace_back(std::move(bytes), error);
    }
    const std::uint64_t one = 1;
    CPPUNIT_ASSERT(::write(ready, &one, sizeof(one)) == sizeof(one));
  }
  std::size_t asked() {
    const std::lock_guard lock(mutex);
    return requests.size();
  }
  bool read_everything() {
    const std::lock_guard lock(mutex);
    return events.empty();
  }
};

class TrackingSocket final : public lib::netlink::RawSocket {
 public:
  explicit TrackingSocket(std::shared_ptr<Tracking> tracking) : tracking_(std::move(tracking)) {}
  ~TrackingSocket() override {
    const std::lock_guard lock(tracking_->mutex);
    if (listens_) --tracking_->listening;
  }
  int send(std::string_view datagram) noexcept override {
    const std::lock_guard lock(tracking_->mutex);
    tracking_->requests.emplace_back(datagram);
    answer_.assign(static_cast<std::size_t>(NLMSG_LENGTH(sizeof(nlmsgerr))), '\0');
    auto* const header = reinterpret_cast<nlmsghdr*>(answer_.data());
    header->nlmsg_len = static_cast<std::uint32_t>(answer_.size());
    header->nlmsg_type = NLMSG_ERROR;
    header->nlmsg_seq = reinterpret_cast<const nlmsghdr*>(datagram.data())->nlmsg_seq;
    header->nlmsg_pid = port_id();
    static_cast<nlmsgerr*>(nlmsg_data(header))->error = -tracking_->answer;
    return 0;
  }
  long receive(std::span<char> into, std::chrono::milliseconds) noexcept override {
    const std::lock_guard lock(tracking_->mutex);
    if (!listens_) {
      answer_.copy(into.data(), into.size());
      return static_cast<long>(std::exchange(answer_, {}).size());
    }
    std::uint64_t one = 0;
    if (tracking_->events.empty() || ::read(tracking_->ready, &one, sizeof(one)) < 0) return -EAGAIN;
    const auto [bytes, error] = std::move(tracking_->events.front());
    tracking_->events.pop_front();
    if (error != 0) return -error;
    bytes.copy(into.data(), into.size());
    return static_cast<long>(bytes.size());
  }
  std::uint32_t port_id() const noexcept override { return 4711; }
  int set_membership(std::uint32_t group, bool on) noexcept override {
    const std::lock_guard lock(tracking_->mutex);
    if (group != NFNLGRP_CONNTRACK_DESTROY || !on) return EINVAL;
    if (tracking_->refusal != 0) return tracking_->refusal;
    listens_ = true;
    ++tracking_->listening;
    return 0;
  }
  int descriptor() const noexcept override { return tracking_->ready; }

 private:
  std::shared_ptr<Tracking> tracking_;
  std::string answer_;
  bool listens_ = false;
};

}  // namespace sluice::test
