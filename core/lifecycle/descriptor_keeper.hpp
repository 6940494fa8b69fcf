// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps descriptors that outlive the backend that opened them. If the service manager has a
// file descriptor store (FileDescriptorStoreMax= of systemd.service(5)), they outlive the
// process, too: the manager receives a duplicate of each and passes them to the next process.
// Without a service manager, the descriptor holder does it. Backends decide which descriptors
// to keep.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/notify.hpp"
#include "core/base/passed_descriptors.hpp"
#include "core/lifecycle/descriptor_index.hpp"
#include "core/lifecycle/descriptor_sender.hpp"
#include "core/lifecycle/holder_link.hpp"
#include "core/plugin/host_services.hpp"
#include "lib/fd.hpp"
#include "lib/ip.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"

namespace sluice::lifecycle {

class DescriptorKeeper final : private DescriptorSender::Owner {
 public:
  // `manager` is the socket of the service manager; without one and without a holder,
  // descriptors end with the process. `passed` are the descriptors this process received at start: those that the
  // keeper did not store are closed, with a warning. The sender thread starts with the first
  // message.
  DescriptorKeeper(const base::Notifier& manager, std::vector<base::PassedDescriptor> passed);
  ~DescriptorKeeper() override;  // stops without waiting
  DescriptorKeeper(const DescriptorKeeper&) = delete;
  DescriptorKeeper& operator=(const DescriptorKeeper&) = delete;

  // Before the backends start: uses a holder, and imports what it has from the earlier process. A running holder ends
  // if there is a service manager, or if descriptors are not to outlive this process (`keeps`).
  void use_holder(std::unique_ptr<HolderLink> holder, bool keeps);

  // [any thread] The view of one backend, for BackendHandle::create(); there may be many.
  // The keeper must outlive it. Its methods do not wait for the manager.
  std::shared_ptr<plugin::BackendDescriptors> descriptors_for(std::string backend, lib::Family family);

  // [any thread] Drops the descriptors of all other backends. Called after the first sync,
  // with the active and the retiring backends.
  void drop_unused(const std::vector<std::string>& backends_in_use);

  // [any thread] Sends pending changes to the manager, for at most `timeout`, then no more.
  // The manager keeps its descriptors for the next process. May be called before or after the
  // backends are released, because a release drops no descriptor.
  void stop(std::chrono::milliseconds timeout);

  struct Statistics {
    std::size_t kept = 0;
    std::size_t passed = 0;   // received at start
    std::size_t pending = 0;  // changes not yet sent to the store
    const char* store = "";   // "service manager", a connected "descriptor holder", or empty
    pid_t holder = 0;         // its process; 0: unknown
  };
  Statistics statistics() const;  // any thread

 private:
  class View;
  struct Kept {
    lib::Fd fd;
    std::optional<unsigned> slot;  // in the descriptor store; nothing: not stored there
  };

  // `stored`: the store that is used now has them.
  void take_passed(std::vector<base::PassedDescriptor> passed, bool stored);
  lib::Status keep(const KeptName& name, int fd);
  // -1 if nothing is kept as `name`.
  int duplicate_of(const KeptName& name) const;
  void drop(const KeptName& name);
  std::vector<std::string> names(const std::string& backend, lib::Family family) const;
  // A slot of the descriptor store for `name`, recorded in the index. Nothing: no slot is free, or the index cannot be
  // written; the first failure is logged.
  std::optional<unsigned> new_slot(const KeptName& name) SLUICE_REQUIRES(mutex_);
  void warn_not_stored(const KeptName& name, const std::string& why) SLUICE_REQUIRES(mutex_);
  // DescriptorSender::Owner. `name` is that in the descriptor store.
  lib::Fd current(const std::string& name) const override;
  void removed(const std::string& name) override;
  std::vector<std::string> all() const override;

  bool has_store_;                // changed only before the backends start
  HolderLink* holder_ = nullptr;  // owned by the sender; null: not used
  mutable lib::Mutex mutex_;
  std::map<KeptName, Kept> kept_ SLUICE_GUARDED_BY(mutex_);
  std::map<unsigned, KeptName> slots_ SLUICE_GUARDED_BY(mutex_);    // in use
  std::set<unsigned> free_slots_ SLUICE_GUARDED_BY(mutex_);         // used earlier; removed by the store, too
  unsigned next_slot_ SLUICE_GUARDED_BY(mutex_) = 0;                // this and higher slots were never in use
  std::optional<DescriptorIndex> index_ SLUICE_GUARDED_BY(mutex_);  // set with the first descriptor for the store
  std::size_t passed_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool warned_ SLUICE_GUARDED_BY(mutex_) = false;
  DescriptorSender sender_;  // last: its thread uses the members above
};

}  // namespace sluice::lifecycle
