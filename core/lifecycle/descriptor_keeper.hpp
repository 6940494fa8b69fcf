// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Descriptors that outlive the backend that opened them, and, where the service manager has
// a file descriptor store (FileDescriptorStoreMax= of systemd.service(5)), the process: the
// manager gets a duplicate of each, and hands all of them to the next process.
// It decides nothing about what is kept.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fd.hpp"
#include "core/base/ip.hpp"
#include "core/base/notify.hpp"
#include "core/base/passed_descriptors.hpp"
#include "core/base/status.hpp"
#include "core/lifecycle/descriptor_index.hpp"
#include "core/lifecycle/descriptor_sender.hpp"
#include "core/plugin/host_services.hpp"

namespace sluice::lifecycle {

class DescriptorKeeper {
 public:
  // `manager` says where the service manager listens; with one that speaks to nobody, what
  // is kept ends with the process. `passed` is what this process was started with: what is
  // not the keeper's among it is closed, with a warning. No thread begins before there is
  // something to tell.
  DescriptorKeeper(const base::Notifier& manager, std::vector<base::PassedDescriptor> passed);
  ~DescriptorKeeper();  // stop(), without patience
  DescriptorKeeper(const DescriptorKeeper&) = delete;
  DescriptorKeeper& operator=(const DescriptorKeeper&) = delete;

  // [any thread] The view of one backend, for HostCallbacks::descriptors; there may be any
  // number of them. The keeper outlives it. Its methods do not wait for the manager.
  std::shared_ptr<plugin::DescriptorStore> of(std::string backend, base::Family family);

  // [any thread] Drops what is kept for other backends than these: nobody will ask for it.
  // To be called after the first sync, with who serves and who still retires.
  void drop_unused(const std::vector<std::string>& backends_in_use);

  // [any thread] What the manager was not told yet is told, for so long at most; then it
  // is told nothing any more, and what it has it keeps for the next process. Before the
  // backends are released, or after: that does not drop anything.
  void stop(std::chrono::milliseconds at_most);

  struct Figures {
    std::size_t kept = 0;
    std::size_t passed = 0;  // came with this process
    std::size_t untold = 0;  // changes the manager does not know of yet
  };
  Figures figures() const;  // any thread

 private:
  class View;
  struct Kept {
    base::Fd fd;
    std::optional<unsigned> slot;  // what the manager has it as; none: it has not
  };

  void take_over(std::vector<base::PassedDescriptor> passed);
  base::Status keep(const KeptName& name, int fd);
  int take(const KeptName& name) const;
  void drop(const KeptName& name);
  std::vector<std::string> names(const std::string& backend, base::Family family) const;
  // All with mutex_ held.
  std::optional<unsigned> new_slot(const KeptName& name);
  void not_for_manager(const KeptName& name, const std::string& why);
  // [thread of the sender]
  base::Fd current(const std::string& text) const;
  void removed(const std::string& text);

  const bool has_manager_;
  mutable std::mutex mutex_;
  std::map<KeptName, Kept> kept_;         // under mutex_, as is all that follows
  std::map<unsigned, KeptName> slots_;    // in use
  std::set<unsigned> free_;               // were in use, and the manager has nothing there any more
  unsigned next_ = 0;                     // from here on none was in use
  std::optional<DescriptorIndex> index_;  // from the first descriptor for the manager on
  std::size_t passed_ = 0;
  bool warned_ = false;
  DescriptorSender sender_;  // the last: its thread asks for what is above
};

}  // namespace sluice::lifecycle
