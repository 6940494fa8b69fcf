// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Takes away what another mode of kube-proxy left on this node, and what backends left
// whose plugin is gone, once what this daemon makes stands in every family, so that no
// packet meets neither (BEH 11.6). Where connections still go through virtual servers of
// IPVS, these stay, with link and sets, until there are none or their time is over. In the
// background: nothing waits for it, and a failure is told in the log and nowhere else.
//
// In this order: find_absent(), absent(), expect() and then stands() for each family;
// keep() at any time. What was kept stays kept.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/ip.hpp"
#include "core/cleanup/absent.hpp"
#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"

namespace sluice::cleanup {

class StartupCleanup {
 public:
  using Remove = std::function<Removal(const Selection&, const std::function<bool()>& stopped)>;
  struct Options {
    std::chrono::milliseconds retry_after{std::chrono::seconds(30)};
    // How long connections through virtual servers of nobody may live, and how often to look.
    std::chrono::milliseconds drain{0};
    std::chrono::milliseconds look_every{std::chrono::seconds(5)};
    Remove remove{};                             // empty: remove_leftovers()
    std::function<std::size_t()> connections{};  // empty: ipvs_connections()
    // [thread of this] One that was by the remover is gone, and to be forgotten in the ledger; may be empty.
    std::function<void(const Absent&)> removed{};
  };

  // `backend`: what it shares with other modes stays. A backend that is no mode of
  // kube-proxy's may run beside one, so that only what absent() names is removed for it.
  explicit StartupCleanup(std::string_view backend) : StartupCleanup(backend, Options()) {}
  StartupCleanup(std::string_view backend, Options options);
  ~StartupCleanup();  // stops
  StartupCleanup(const StartupCleanup&) = delete;
  StartupCleanup& operator=(const StartupCleanup&) = delete;

  // Before expect(): what find_absent() found. The artifacts of those that their plugin
  // retires stay; those of the others go, and where no remover may touch one, the log says so.
  void absent(const std::vector<Absent>& found);
  // Before the first stands(): the families to wait for.
  void expect(const std::vector<base::Family>& families);
  // [apply thread] The first sync of a family is in the kernel; `claims` is what the
  // backend owns there. Does not wait. Only the first call for a family counts.
  void stands(base::Family family, const std::vector<std::string>& claims);
  // [any thread] Nothing of this is removed from now on, whoever made it: to be called for a
  // backend that arrives by a swap, before it writes anything. Waits while one step of a
  // removal that had begun goes on.
  void keep(base::Family family, const std::vector<std::string>& artifacts);
  // Waits for the program that runs, and no longer.
  void stop();

 private:
  void work();
  bool wait_for_connections();
  std::chrono::milliseconds servers_drain() const;
  void remove_all();
  std::optional<Removal> remove(bool virtual_servers);
  void tell(const Removal& removed) const;
  bool interrupted();
  bool sleep(std::chrono::milliseconds time);

  struct Gone {
    Absent absent;
    bool wholly;  // a remover may touch all of it
  };
  const Options options_;
  const Modes mode_;
  std::vector<Gone> by_remover_;  // complete before the worker begins

  std::mutex mutex_;
  std::condition_variable wake_;
  Selection selection_;             // under mutex_
  std::set<base::Family> awaited_;  // under mutex_
  bool removing_ = false;           // under mutex_; a removal goes on
  unsigned keepers_ = 0;            // under mutex_; who waits for it to end
  bool stopping_ = false;           // under mutex_
  std::thread worker_;
};

}  // namespace sluice::cleanup
