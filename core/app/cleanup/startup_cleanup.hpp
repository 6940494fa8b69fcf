// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Takes away what another mode of kube-proxy left on this node, once what this daemon
// makes stands in every family, so that no packet meets neither (BEH 11.6). In the
// background: nothing waits for it, and a failure is told in the log and nowhere else.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/app/cleanup/removal.hpp"
#include "core/app/cleanup/selection.hpp"
#include "core/base/ip.hpp"

namespace sluice::app {

class StartupCleanup {
 public:
  using Remove = std::function<Removal(const Selection&, const std::function<bool()>& stopped)>;
  struct Options {
    std::chrono::milliseconds retry_after{std::chrono::seconds(30)};
    Remove remove{};  // empty: remove_leftovers()
  };

  // `backend`: what it shares with other modes stays. A backend that is no mode of
  // kube-proxy's may run beside one, so that nothing is removed for it.
  explicit StartupCleanup(std::string_view backend) : StartupCleanup(backend, Options()) {}
  StartupCleanup(std::string_view backend, Options options);
  ~StartupCleanup();  // stops
  StartupCleanup(const StartupCleanup&) = delete;
  StartupCleanup& operator=(const StartupCleanup&) = delete;

  // Before the first stands(): the families to wait for.
  void expect(const std::vector<base::Family>& families);
  // [apply thread] The first sync of a family is in the kernel; `claims` is what the
  // backend owns there. Does not wait. Only the first call for a family counts.
  void stands(base::Family family, const std::vector<std::string>& claims);
  // Waits for the program that runs, and no longer.
  void stop();

 private:
  void work();
  void tell(const Removal& removed) const;
  bool stopped();

  const Options options_;
  const Modes mode_;
  Selection selection_;  // by its users' turns: apply threads under mutex_, then the worker alone

  std::mutex mutex_;
  std::condition_variable wake_;
  std::set<base::Family> awaited_;  // under mutex_
  bool stopping_ = false;           // under mutex_
  std::thread worker_;
};

}  // namespace sluice::app
