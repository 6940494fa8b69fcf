// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/swapper.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log.hpp"
#include "core/lifecycle/fault_point.hpp"

namespace sluice::lifecycle {
namespace {

constexpr std::chrono::seconds kLeastDrain{1};
// How often who served tries to write again what a newcomer has replaced, before that is left to its own retries.
constexpr int kRestoreTries = 3;

}  // namespace

// One swap: what has been done so far, and so what has to be taken back.
class Swapper::Attempt {
 public:
  Attempt(Swapper& swapper, const SwapRequest& request)
      : swapper_(swapper),
        around_(swapper.around_),
        limits_(swapper.limits_),
        request_(request),
        old_(around_.serving()),
        begin_(swapper.clock_.now()) {
    result_.from = old_->plugin().id();
    result_.to = request.to;
  }

  SwapResult run() {
    const auto pause = swapper_.retirement_.pause();
    base::Status status;
    try {
      status = bring_in();
    } catch (const std::exception& e) {  // no thread, no memory
      status = {base::StatusCode::internal, e.what()};
    }
    if (!status.ok()) {
      result_.failed_at = step_;
      result_.status = std::move(status);
      take_back();
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
  base::Status enter(Step step) {
    step_ = step;
    swapper_.enter(step);
    if (swapper_.stopping_) return base::unavailable("the daemon is ending");
    return fault_point(step);
  }

  // Everything until the newcomer could serve.
  base::Status bring_in() {
    if (auto status = enter(Step::load); !status.ok()) return status;
    auto plugin = request_.load();
    if (!plugin) return plugin.status();
    if (auto status = probe(*plugin); !status.ok()) return status;
    if (auto status = claim(); !status.ok()) return status;
    if (auto status = hold(); !status.ok()) return status;
    if (auto status = apply(); !status.ok()) return status;
    if (auto status = enter(Step::verify); !status.ok()) return status;
    return newcomer_->verify(limits_.call, watch());
  }

  base::Status probe(std::shared_ptr<const plugin::Plugin> plugin) {
    if (auto status = enter(Step::probe); !status.ok()) return status;
    auto settings = request_.settings(*plugin);
    if (!settings) return settings.status();
    settings->id = around_.next_id();
    settings->plugin = std::move(plugin);
    settings->loop.held = true;
    for (const auto& of : old_->families()) {
      settings->families.push_back(of->family);
      settings->backend[base::family_index(of->family)].predecessor_serves = true;
    }
    newcomer_ = std::make_shared<BackendRun>(std::move(*settings), around_.run, around_.metrics, swapper_.clock_);
    for (const base::Status& status : newcomer_->start(limits_.probe)) {
      if (!status.ok()) return status;
    }
    return {};
  }

  base::Status claim() {
    if (auto status = enter(Step::claim); !status.ok()) return status;
    // One that hangs can be replaced all the same: what it owned when it began to serve is known.
    auto now = old_->claims(limits_.call);
    old_claims_ = now ? std::move(*now) : swapper_.retirement_.successor();
    auto wanted = newcomer_->claims(limits_.call);
    if (!wanted) return wanted.status();
    claims_ = std::move(*wanted);
    recorded_ = true;
    return around_.arriving(*newcomer_, claims_);
  }

  base::Status hold() {
    if (auto status = enter(Step::hold); !status.ok()) return status;
    if (!overlap(old_claims_, claims_)) return {};
    held_ = true;
    return old_->hold(limits_.apply, watch());
  }

  base::Status apply() {
    if (auto status = enter(Step::apply); !status.ok()) return status;
    around_.before_feed(newcomer_->plugin());
    newcomer_->feed(*around_.store, snapshot::FactsOf::coming);
    hand_clients_over();
    wrote_ = true;
    if (auto status = newcomer_->apply_full(limits_.apply, watch()); !status.ok()) return status;
    hand_clients_over();
    return {};
  }

  // Who has come between the two times is not lost; an affinity that cannot be handed on is no reason not to swap.
  void hand_clients_over() {
    if (affinity_lost_ || !old_->plugin().has(abi::kFeatureAffinity)) return;
    auto clients = old_->export_clients(limits_.call);
    if (clients && (*clients)[0].empty() && (*clients)[1].empty()) return;
    auto status = clients ? newcomer_->import_clients(*clients, limits_.call) : clients.status();
    if (status.ok()) return;
    affinity_lost_ = true;
    result_.remarks.push_back("clients with session affinity are bound anew: " + status.message());
  }

  void switch_over() {
    if (const auto status = enter(Step::switch_over); !status.ok()) result_.remarks.push_back(status.message());
    around_.serve(newcomer_, claims_);
    swapper_.retirement_.set_successor(claims_);
    newcomer_->resume();
  }

  void retire() {
    const auto fault = enter(Step::retire);
    // A moment at the least: what is on its way to the one that served arrives, and flows can be moved.
    const auto drain = std::max(std::chrono::duration_cast<std::chrono::seconds>(request_.drain), kLeastDrain);
    around_.retiring(*old_, old_claims_, std::chrono::system_clock::now() + drain);
    if (!held_) {
      if (const auto status = old_->hold(limits_.retire, watch()); !status.ok())
        result_.remarks.push_back(status.message());
    }
    old_->close_feeds();
    plugin::Outcome outcome;
    if (fault.ok()) {
      outcome = old_->retire(claims_, drain, limits_.retire, watch());
    } else {
      outcome.code = abi::Code::kKernel;
      outcome.message = fault.message();
    }
    std::string error;
    if (!outcome.ok() && outcome.code != abi::Code::kRetry) {
      error = outcome.status(old_->plugin().id(), "retire").message();
      base::log_warning("swap", error + "; it is asked again");
      result_.remarks.push_back(error + "; it is asked again");
    }
    swapper_.retirement_.add({.run = old_, .until = swapper_.clock_.now() + drain, .error = std::move(error)});
  }

  // Against the order in which it came about. Where both own the same things, the content of who served has to be
  // there again before what only the newcomer's content needed may go.
  void take_back() {
    if (newcomer_ == nullptr) return;
    newcomer_->close_feeds();
    if (swapper_.stopping_) {
      // As it is: who served does not write any more, so nothing may be taken away. The next process finds in the
      // ledger what arrived.
      newcomer_->stop();
      return;
    }
    const bool restored = !held_ || !wrote_ || restore();
    if (held_) old_->resume();
    if (!wrote_ && !newcomer_->busy()) {
      newcomer_->stop();
      if (recorded_) around_.undone(*newcomer_);
      return;
    }
    // What it took meanwhile lives on there, as with one that has served.
    const auto drain = std::max(std::chrono::duration_cast<std::chrono::seconds>(request_.drain), kLeastDrain);
    Retirement::Entry entry{.run = newcomer_, .until = swapper_.clock_.now() + drain, .undo = true};
    if (!restored) entry.after = old_;
    if (restored && !newcomer_->busy()) {
      const plugin::Outcome outcome = newcomer_->retire(old_claims_, drain, limits_.retire);
      if (outcome.ok()) {
        newcomer_->stop();
        around_.undone(*newcomer_);
        return;
      }
      if (outcome.code != abi::Code::kRetry) entry.error = outcome.status(request_.to, "retire").message();
    }
    if (!restored || !entry.error.empty() || newcomer_->busy()) {
      result_.remarks.push_back("what backend " + request_.to + " has written is not yet removed; this goes on" +
                                (entry.error.empty() ? "" : ": " + entry.error));
    }
    swapper_.retirement_.add(std::move(entry));
  }

  bool restore() {
    base::Status status;
    for (int i = 0; i < kRestoreTries; ++i) {
      status = old_->apply_full(limits_.apply, watch());
      if (status.ok()) return true;
    }
    base::log_error("swap", status.message() + "; it is tried again");
    return false;
  }

  // Until the newcomer serves, a change has arrived when the one that serves has it.
  BackendRun::Meanwhile watch() {
    return [this] {
      longest_wait_ = std::max(longest_wait_, old_->pending_for());
      return !swapper_.stopping_;
    };
  }

  Swapper& swapper_;
  const Surroundings& around_;
  const Limits& limits_;
  const SwapRequest& request_;
  const std::shared_ptr<BackendRun> old_;
  const base::Clock::Time begin_;
  SwapResult result_;
  Step step_ = Step::load;
  std::shared_ptr<BackendRun> newcomer_;
  Claims old_claims_;
  Claims claims_;
  bool recorded_ = false;
  bool held_ = false;
  bool wrote_ = false;
  bool affinity_lost_ = false;
  base::Clock::Duration longest_wait_{0};
};

Swapper::Swapper(Limits limits, Surroundings surroundings, Retirement& retirement, const base::Clock& clock)
    : limits_(limits), around_(std::move(surroundings)), retirement_(retirement), clock_(clock) {}

void Swapper::enter(Step step) {
  base::log_debug("swap", "swap from " + progress_.from + " to " + progress_.to + ": " + std::string(step_name(step)));
  const std::lock_guard lock(mutex_);
  progress_.step = step;
}

SwapResult Swapper::swap(const SwapRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    progress_.from = around_.serving()->plugin().id();
    progress_.to = request.to;
    progress_.since = std::chrono::system_clock::now();
    progress_.step = Step::load;
  }
  SwapResult result = Attempt(*this, request).run();
  const std::lock_guard lock(mutex_);
  progress_.step.reset();
  progress_.last = result;
  return result;
}

SwapProgress Swapper::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

}  // namespace sluice::lifecycle
