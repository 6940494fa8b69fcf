// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/swapper.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/lifecycle/fault_point.hpp"

namespace sluice::lifecycle {
namespace {

constexpr std::chrono::seconds kMinDrain{1};
// Attempts of the old backend to restore artifacts that the new backend has overwritten, before its sync loop retries.
constexpr int kRestoreAttempts = 3;

}  // namespace

// The state of one swap, for its rollback.
class Swapper::Attempt {
 public:
  Attempt(Swapper& swapper, const config::Settings& to, SwapHooks& hooks)
      : swapper_(swapper),
        host_(swapper.host_),
        timeouts_(swapper.timeouts_),
        to_(to),
        hooks_(hooks),
        old_(host_.active_run()),
        begin_(swapper.clock_.now()) {
    result_.from = old_->plugin().id();
    result_.to = to.backend;
  }

  SwapResult run() {
    const lib::Lock pause(swapper_.retirement_.pause_mutex());
    lib::Status status;
    try {
      status = prepare();
    } catch (const std::exception& e) {  // no thread, no memory
      status = {lib::StatusCode::internal, e.what()};
    }
    if (!status.ok()) {
      result_.failed_at = step_;
      result_.status = std::move(status);
      roll_back();
    } else {
      switch_over();
      retire();
    }
    result_.seconds = std::chrono::duration<double>(swapper_.clock_.now() - begin_).count();
    result_.longest_wait_seconds = std::chrono::duration<double>(longest_wait_).count();
    result_.at = std::chrono::system_clock::now();
    return std::move(result_);
  }

 private:
  lib::Status enter(Step step) {
    step_ = step;
    swapper_.enter(step);
    if (swapper_.stopping_) return lib::unavailable("the daemon is shutting down");
    return fault_point(step);
  }

  // Everything before the switch-over.
  lib::Status prepare() {
    if (auto status = enter(Step::load); !status.ok()) return status;
    auto plugin = host_.load(to_);
    if (!plugin) return plugin.status();
    if (auto status = hooks_.provide_details(**plugin, watch()); !status.ok()) return status;
    if (auto status = probe(*plugin); !status.ok()) return status;
    if (auto status = claim(); !status.ok()) return status;
    if (auto status = hold(); !status.ok()) return status;
    if (auto status = apply(); !status.ok()) return status;
    if (auto status = enter(Step::verify); !status.ok()) return status;
    return new_->verify(timeouts_.call, watch());
  }

  lib::Status probe(std::shared_ptr<const plugin::Plugin> plugin) {
    if (auto status = enter(Step::probe); !status.ok()) return status;
    auto settings = host_.run_settings(to_);
    if (!settings) return settings.status();
    settings->plugin = std::move(plugin);
    settings->loop.held = true;
    for (const auto& of : old_->families()) {
      settings->families.push_back(of->family);
      settings->backend[lib::family_index(of->family)].predecessor_serves = true;
    }
    new_ = host_.make(std::move(*settings));
    for (const lib::Status& status : new_->start(timeouts_.probe)) {
      if (!status.ok()) return status;
    }
    return {};
  }

  lib::Status claim() {
    if (auto status = enter(Step::claim); !status.ok()) return status;
    // A backend that hangs can be replaced, too: its claims at the switch-over are known.
    auto now = old_->claims(timeouts_.call);
    old_claims_ = now ? std::move(*now) : swapper_.retirement_.successor();
    auto wanted = new_->claims(timeouts_.call);
    if (!wanted) return wanted.status();
    claims_ = std::move(*wanted);
    recorded_ = true;
    return host_.record_arriving(*new_, claims_);
  }

  lib::Status hold() {
    if (auto status = enter(Step::hold); !status.ok()) return status;
    if (!overlap(old_claims_, claims_)) return {};
    held_ = true;
    return old_->hold(timeouts_.apply, watch());
  }

  lib::Status apply() {
    if (auto status = enter(Step::apply); !status.ok()) return status;
    hooks_.before_subscribe(new_->plugin());
    new_->subscribe(snapshot::SettingsStage::pending);
    hand_clients_over();
    wrote_ = true;
    if (auto status = new_->apply_full(timeouts_.apply, watch()); !status.ok()) return status;
    hand_clients_over();
    return {};
  }

  // Called twice, for clients that come during the apply. A failure does not fail the swap.
  void hand_clients_over() {
    if (affinity_lost_ || !old_->plugin().has(abi::kFeatureAffinity)) return;
    auto clients = old_->export_clients(timeouts_.call);
    if (clients && (*clients)[0].empty() && (*clients)[1].empty()) return;
    auto status = clients ? new_->import_clients(*clients, timeouts_.call) : clients.status();
    if (status.ok()) return;
    affinity_lost_ = true;
    result_.remarks.push_back("session affinity is lost: " + status.message());
  }

  void switch_over() {
    if (const auto status = enter(Step::switch_over); !status.ok()) result_.remarks.push_back(status.message());
    host_.serve(new_, claims_);
    swapper_.retirement_.set_successor(claims_);
    new_->resume();
  }

  void retire() {
    const auto fault = enter(Step::retire);
    // At least kMinDrain, for packets on their way to the old backend, and to move flows.
    const auto drain = std::max(std::chrono::duration_cast<std::chrono::seconds>(to_.drain_timeout), kMinDrain);
    host_.record_retiring(*old_, old_claims_, std::chrono::system_clock::now() + drain);
    if (!held_) {
      if (const auto status = old_->hold(timeouts_.retire, watch()); !status.ok())
        result_.remarks.push_back(status.message());
    }
    old_->unsubscribe();
    plugin::Outcome outcome;
    if (fault.ok()) {
      outcome = old_->retire(claims_, drain, timeouts_.retire, watch());
    } else {
      outcome.code = abi::Code::kKernel;
      outcome.message = fault.message();
    }
    std::string error;
    if (!outcome.ok() && outcome.code != abi::Code::kRetry) {
      error = outcome.status(old_->plugin().id(), "retire").message();
      base::log(base::message::kRetireFailed, error + "; retrying",
                {{"backend", old_->plugin().id()}, {"error", error}});
      result_.remarks.push_back(error + "; retrying");
    }
    swapper_.retirement_.add({.run = old_, .until = swapper_.clock_.now() + drain, .error = std::move(error)});
  }

  // In reverse order. If both backends own the same artifacts, the old backend must restore their content before
  // anything that only the content of the new backend references is deleted.
  void roll_back() {
    if (new_ == nullptr) return;
    new_->unsubscribe();
    new_->cancel();
    if (swapper_.stopping_) {
      // The old backend may be held and cannot restore its rules, so nothing is deleted. The next process finds the
      // new backend in the ownership ledger.
      new_->stop();
      return;
    }
    const bool restored = !held_ || !wrote_ || restore();
    if (held_) old_->resume();
    if (!wrote_ && !new_->busy()) {
      new_->stop();
      if (recorded_) host_.forget_arriving(*new_);
      return;
    }
    // Connections that the new backend accepted drain, as with a backend that has served.
    const auto drain = std::max(std::chrono::duration_cast<std::chrono::seconds>(to_.drain_timeout), kMinDrain);
    Retirement::Entry entry{.run = new_, .until = swapper_.clock_.now() + drain, .undo = true};
    if (!restored) entry.after_sync_of = old_;
    if (restored && !new_->busy()) {
      const plugin::Outcome outcome = new_->retire(old_claims_, drain, timeouts_.retire);
      if (outcome.ok()) {
        new_->stop();
        host_.forget_arriving(*new_);
        return;
      }
      if (outcome.code != abi::Code::kRetry) entry.error = outcome.status(to_.backend, "retire").message();
    }
    if (!restored || !entry.error.empty() || new_->busy()) {
      result_.remarks.push_back("kernel state of backend " + to_.backend + " is not removed yet; retrying" +
                                (entry.error.empty() ? "" : ": " + entry.error));
    }
    swapper_.retirement_.add(std::move(entry));
  }

  bool restore() {
    lib::Status status;
    for (int i = 0; i < kRestoreAttempts; ++i) {
      status = old_->apply_full(timeouts_.apply, watch());
      if (status.ok()) return true;
    }
    base::log(base::message::kRestoreFailed, status.message() + "; retrying",
              {{"backend", old_->plugin().id()}, {"error", status.message()}});
    return false;
  }

  // Until the switch-over, a change is in the kernel when the old backend has written it.
  BackendRun::KeepWaiting watch() {
    return [this] {
      longest_wait_ = std::max(longest_wait_, old_->pending_for());
      return !swapper_.stopping_;
    };
  }

  Swapper& swapper_;
  Host& host_;
  const Timeouts& timeouts_;
  const config::Settings& to_;
  SwapHooks& hooks_;
  const std::shared_ptr<BackendRun> old_;
  const lib::Clock::Time begin_;
  SwapResult result_;
  Step step_ = Step::load;
  std::shared_ptr<BackendRun> new_;
  Claims old_claims_;
  Claims claims_;
  bool recorded_ = false;
  bool held_ = false;
  bool wrote_ = false;
  bool affinity_lost_ = false;
  lib::Clock::Duration longest_wait_{0};
};

Swapper::Swapper(Timeouts timeouts, Host& host, Retirement& retirement, const lib::Clock& clock)
    : timeouts_(timeouts), host_(host), retirement_(retirement), clock_(clock) {}

void Swapper::enter(Step step) {
  std::string names;
  {
    const lib::Lock lock(mutex_);
    names = "from " + progress_.from + " to " + progress_.to;
    progress_.step = step;
  }
  base::log(base::message::kSwapStep, "swap " + names + ": " + std::string(step_name(step)),
            {{"step", step_name(step)}});
}

SwapResult Swapper::swap(const config::Settings& to, SwapHooks& hooks) {
  {
    const lib::Lock lock(mutex_);
    progress_.from = host_.active_run()->plugin().id();
    progress_.to = to.backend;
    progress_.since = std::chrono::system_clock::now();
    progress_.step = Step::load;
  }
  SwapResult result = Attempt(*this, to, hooks).run();
  const lib::Lock lock(mutex_);
  progress_.step.reset();
  progress_.last = result;
  return result;
}

SwapProgress Swapper::progress() const {
  const lib::Lock lock(mutex_);
  return progress_;
}

}  // namespace sluice::lifecycle
