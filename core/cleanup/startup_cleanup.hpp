// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Removes the leftover state of other kube-proxy modes and of backends whose plugin is gone. It starts after the first
// sync of every family, so that packets always match one set of rules (BEH 11.6). IPVS virtual servers with connections
// stay, with their link and sets, until the connections end or the drain timeout expires. Runs in the background;
// failures are only logged.
//
// Order of calls: find_leftover_backends(), set_leftover_backends(), expect(), then family_synced() per family; keep() at any
// time, and its effect is permanent.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/cleanup/leftover_backends.hpp"
#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"
#include "lib/ip.hpp"
#include "lib/mutex.hpp"

namespace sluice::cleanup {

class StartupCleanup {
 public:
  using Remove = std::function<Removal(const Selection&, const std::function<bool()>& stopped)>;
  struct Options {
    std::chrono::milliseconds retry_after{std::chrono::seconds(30)};
    // How long connections through unowned virtual servers may live, and how often to check for them.
    std::chrono::milliseconds drain{0};
    std::chrono::milliseconds check_interval{std::chrono::seconds(5)};
    Remove remove{};                             // empty: remove_leftovers()
    std::function<std::size_t()> connections{};  // empty: ipvs_connections()
    // [own thread] Everything of this backend was removed; delete its entries from the ownership ledger. May be empty.
    std::function<void(const LeftoverBackend&)> removed{};
  };

  // Objects that `backend` shares with other modes stay. A backend that is not a mode of kube-proxy may run beside
  // kube-proxy; then only the state of the leftover backends is removed.
  explicit StartupCleanup(std::string_view backend) : StartupCleanup(backend, Options()) {}
  StartupCleanup(std::string_view backend, Options options);
  ~StartupCleanup();  // stops
  StartupCleanup(const StartupCleanup&) = delete;
  StartupCleanup& operator=(const StartupCleanup&) = delete;

  // Call before expect() with the result of find_leftover_backends(). Artifacts that a plugin retires stay; all others are
  // removed, with a log line for each that must not be removed here.
  void set_leftover_backends(const std::vector<LeftoverBackend>& found);
  // Call before the first family_synced(): the families to wait for.
  void expect(const std::vector<lib::Family>& families);
  // [any thread] The first sync of a family is in the kernel; `claims` are the objects that the backend owns there.
  // Does not block. Later calls for the same family are ignored.
  void family_synced(lib::Family family, const std::vector<std::string>& claims);
  // [any thread] Never removes these artifacts from now on. Must be called for the new backend of a swap before it
  // writes. Blocks until the current step of a running removal ends.
  void keep(lib::Family family, const std::vector<std::string>& artifacts);
  // Blocks until a running program ends.
  void stop();

 private:
  void work();
  bool wait_for_connections();
  std::chrono::milliseconds servers_drain() const;
  void remove_all();
  std::optional<Removal> remove(bool virtual_servers);
  void log_result(const Removal& removed) const;
  bool interrupted();
  bool sleep(std::chrono::milliseconds time);

  struct Gone {
    LeftoverBackend backend;
    bool completely;  // all its artifacts may be removed
  };
  const Options options_;
  const Modes mode_;
  std::vector<Gone> by_remover_;  // complete before worker_ starts

  lib::Mutex mutex_;
  lib::ConditionVariable wake_;
  Selection selection_ SLUICE_GUARDED_BY(mutex_);
  std::set<lib::Family> awaited_ SLUICE_GUARDED_BY(mutex_);
  bool removing_ SLUICE_GUARDED_BY(mutex_) = false;  // a removal runs
  unsigned keepers_ SLUICE_GUARDED_BY(mutex_) = 0;   // keep() calls that wait for the removal to end
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::thread worker_;  // starts under mutex_, and not after stop()
};

}  // namespace sluice::cleanup
