// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sends descriptors to the store of the service manager with the protocol of sd_notify(3)
// (FDSTORE, FDSTOREREMOVE), on its own thread: the socket of the manager holds only a few
// messages, and the manager may be restarting. The queue holds each name at most once, so
// that its size is bounded.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/clock.hpp"
#include "lib/fd.hpp"
#include "lib/mutex.hpp"

namespace sluice::lifecycle {

class DescriptorSender {
 public:
  // [thread of the sender]
  class Owner {
   public:
    virtual ~Owner() = default;
    // A duplicate of the descriptor with this name; invalid when there is none.
    virtual lib::Fd current(const std::string& name) const = 0;
    // The manager has removed the name, and no descriptor has it.
    virtual void removed(const std::string& name) = 0;
  };

  // `manager` is a sockaddr_un of its exact length; empty disables the sender. The owner must outlive it.
  DescriptorSender(std::vector<char> manager, Owner& owner);
  ~DescriptorSender();  // stops at once
  DescriptorSender(const DescriptorSender&) = delete;
  DescriptorSender& operator=(const DescriptorSender&) = delete;

  // The manager already has a descriptor with this name. Must be called before the first changed().
  void known(const std::string& name) { stored_.insert(name); }
  // [any thread] The descriptor with this name was replaced or dropped. Does not wait. Messages
  // are sent in the order of these calls, each with the state at the time it is sent.
  void changed(const std::string& name);
  // [any thread] Sends pending messages for at most `timeout`, while the manager accepts them. Afterwards, changed()
  // has no effect.
  void stop(std::chrono::milliseconds timeout);
  std::size_t pending() const;  // any thread

 private:
  enum class SendResult { ok, full, gone, refused };

  void run();
  bool update(const std::string& name);
  bool send_with_retry(const std::string& payload, int fd);
  SendResult send(const std::string& payload, int fd);
  bool pause(SendResult why);
  bool timed_out();

  const std::vector<char> manager_;
  Owner& owner_;
  // Used only by the thread, once it runs.
  std::set<std::string> stored_;  // names that the manager may have
  lib::Fd socket_;
  std::chrono::milliseconds retry_{0};
  bool warned_ = false;

  mutable lib::Mutex mutex_;
  lib::ConditionVariable wake_;
  std::deque<std::string> queue_ SLUICE_GUARDED_BY(mutex_);
  std::set<std::string> queued_ SLUICE_GUARDED_BY(mutex_);  // the same names, for lookup
  std::size_t sending_ SLUICE_GUARDED_BY(mutex_) = 0;       // 1 while a name taken from the queue is being sent
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  lib::Clock::Time deadline_ SLUICE_GUARDED_BY(mutex_){};
  std::thread thread_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::lifecycle
