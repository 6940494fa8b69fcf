// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sends descriptors to a store outside this process, on its own thread: the socket of the store
// holds only a few messages, and the store may be restarting. The queue holds each name at most
// once, so that its size is bounded.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/lifecycle/store_link.hpp"
#include "lib/clock.hpp"
#include "lib/fd.hpp"
#include "lib/mutex.hpp"
#include "lib/wake_up.hpp"

namespace sluice::lifecycle {

class DescriptorSender {
 public:
  // [thread of the sender]
  class Owner {
   public:
    virtual ~Owner() = default;
    // A duplicate of the descriptor with this name; invalid when there is none.
    virtual lib::Fd current(const std::string& name) const = 0;
    // The store has removed the name, and no descriptor has it.
    virtual void removed(const std::string& name) = 0;
    // All names, in the order in which a new store receives them.
    virtual std::vector<std::string> all() const = 0;
  };

  // The sender does nothing without a link. The owner must outlive it.
  DescriptorSender(std::unique_ptr<StoreLink> link, Owner& owner);
  ~DescriptorSender();  // stops at once
  DescriptorSender(const DescriptorSender&) = delete;
  DescriptorSender& operator=(const DescriptorSender&) = delete;

  // Before the first changed(): another store.
  void use(std::unique_ptr<StoreLink> link) { link_ = std::move(link); }
  // After known(): a connected store that ends is opened again, with everything.
  void watch();
  // The store already has a descriptor with this name. Must be called before the first changed().
  void known(const std::string& name) { stored_.insert(name); }
  // [any thread] The descriptor with this name was replaced or dropped. Does not wait. Messages
  // are sent in the order of these calls, each with the state at the time it is sent.
  void changed(const std::string& name);
  // [any thread] Sends pending messages for at most `timeout`, while the store accepts them. Afterwards, changed()
  // has no effect.
  void stop(std::chrono::milliseconds timeout);
  std::size_t pending() const;  // any thread

 private:
  enum class SendResult { ok, full, gone, absent, refused };

  void run();
  // The next name to send. Nothing: stopped.
  std::optional<std::string> next();
  // Until a change or until a message of the store.
  void wait_idle();
  bool update(const std::string& name);
  bool send_with_retry(const std::string& payload, int fd);
  SendResult send(const std::string& payload, int fd);
  SendResult open();
  bool pause(SendResult why);
  bool timed_out();
  void start_thread() SLUICE_REQUIRES(mutex_);

  std::unique_ptr<StoreLink> link_;  // changed only before the thread runs
  Owner& owner_;
  // Used only by the thread, once it runs.
  std::set<std::string> stored_;  // names that the store may have
  std::chrono::milliseconds retry_{0};
  bool warned_ = false;

  mutable lib::Mutex mutex_;
  lib::WakeUp wake_;
  std::deque<std::string> queue_ SLUICE_GUARDED_BY(mutex_);
  std::set<std::string> queued_ SLUICE_GUARDED_BY(mutex_);  // the same names, for lookup
  std::size_t sending_ SLUICE_GUARDED_BY(mutex_) = 0;       // 1 while a name taken from the queue is being sent
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  lib::Clock::Time deadline_ SLUICE_GUARDED_BY(mutex_){};
  std::thread thread_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::lifecycle
