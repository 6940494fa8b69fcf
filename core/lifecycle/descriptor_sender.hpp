// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tells a service manager which descriptors it is to keep, in the protocol of sd_notify(3)
// (FDSTORE, FDSTOREREMOVE), on a thread of its own: the manager's socket holds a few
// messages only, and it may be gone for a while. What waits is names, each once, so that it
// never grows beyond what there is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/fd.hpp"

namespace sluice::lifecycle {

class DescriptorSender {
 public:
  // [thread of the sender]
  struct Callbacks {
    // A duplicate of what is kept under a name now; an invalid one when nothing is.
    std::function<base::Fd(const std::string& name)> current;
    // Nothing is kept under it, and the manager has nothing under it.
    std::function<void(const std::string& name)> removed;
  };

  // `manager` is a sockaddr_un as long as it is; with an empty one nothing is ever told.
  DescriptorSender(std::vector<char> manager, Callbacks callbacks);
  ~DescriptorSender();  // stops at once
  DescriptorSender(const DescriptorSender&) = delete;
  DescriptorSender& operator=(const DescriptorSender&) = delete;

  // The manager has something of that name already. Before the first changed().
  void known(const std::string& name) { told_.insert(name); }
  // [any thread] What is kept under this name is another thing now, or nothing. Does not wait.
  // The manager is told in the order of these calls, of each name what it is by then.
  void changed(const std::string& name);
  // [any thread] Goes on for so long at most, while the manager takes something. After this, changed() does nothing.
  void stop(std::chrono::milliseconds at_most);
  std::size_t waiting() const;  // any thread

 private:
  enum class Sent { yes, full, gone, refused };

  void run();
  bool tell(const std::string& name);
  bool deliver(const std::string& words, int fd);
  Sent send(const std::string& words, int fd);
  bool pause(Sent why);
  bool over();

  const std::vector<char> manager_;
  const Callbacks callbacks_;
  std::set<std::string> told_;  // what the manager may have; of the thread, once it runs
  base::Fd socket_;             // of the thread, as what follows
  std::chrono::milliseconds retry_{0};
  bool warned_ = false;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::string> queue_;  // under mutex_
  std::set<std::string> queued_;   // under mutex_; the same, to find
  std::size_t telling_ = 0;        // under mutex_; 1 while one that left the queue is being told
  bool stopping_ = false;          // under mutex_
  base::Clock::Time deadline_{};   // under mutex_
  std::thread thread_;             // under mutex_
};

}  // namespace sluice::lifecycle
