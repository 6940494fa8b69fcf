// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The reload part for the backend and the node facts it receives: backend id, options and
// plugin file, sync periods, addresses, the local traffic detector. Prepares last, because a
// swap is not rolled back when another part fails.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/lifecycle/backends.hpp"
#include "core/reload/part.hpp"
#include "lib/mutex.hpp"

namespace sluice::lifecycle {

class BackendPart final : public reload::ReloadPart {
 public:
  // [reload thread] The rest of the daemon.
  class Host {
   public:
    virtual ~Host() = default;
    // Fails for settings that cannot work on this node.
    virtual lib::Status check(const config::Settings& to) = 0;
    // Called with true before a backend that needs ServiceCIDRs subscribes, and with false after a backend that does
    // not need them has subscribed.
    virtual void set_service_cidrs(bool wanted, const config::Settings& settings) = 0;
    // Sets the details that the source delivers; null: none. A change makes it list again.
    virtual void set_details(const model::WantedDetailsPtr& wanted) = 0;
    // Waits until it has listed with what `request` asks for. `keep_waiting` returns false to abort the wait.
    virtual lib::Status await_details(const model::DetailsRequest& request,
                                      const BackendRun::KeepWaiting& keep_waiting) = 0;
    // Recomputes the node facts with the active settings.
    virtual void refresh() = 0;
  };

  // Both must outlive it.
  BackendPart(Backends& backends, Host& host) : backends_(backends), host_(host) {}

  bool concerned(const config::Settings& from, const config::Settings& to) const override;
  lib::Status prepare(const config::Settings& from, const config::Settings& to) override;
  reload::Committed commit() override;
  void abandon() override;

  // [any thread] The settings that determine the node facts of the new backend during a swap; null when no swap is in
  // progress.
  std::shared_ptr<const config::Settings> swap_settings() const {
    const lib::Lock lock(mutex_);
    return swap_settings_;
  }

 private:
  // The source delivers the details that the active backend asks for.
  void restore_details();
  void set_swap_settings(std::shared_ptr<const config::Settings> settings);

  Backends& backends_;
  Host& host_;
  std::optional<config::Settings> to_;
  std::optional<SwapResult> swapped_;
  mutable lib::Mutex mutex_;
  std::shared_ptr<const config::Settings> swap_settings_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::lifecycle
