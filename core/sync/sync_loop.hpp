// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The apply thread of one family: decides when to take a transaction and whether it is
// full, gives it to the backend, and reads from the answer what to do next. The only
// caller of the backend.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/log_budget.hpp"
#include "core/base/queue.hpp"
#include "core/plugin/backend_handle.hpp"
#include "core/snapshot/transaction.hpp"
#include "core/sync/bounded_runner.hpp"
#include "core/sync/freshness.hpp"
#include "core/sync/left_out.hpp"
#include "core/sync/loop_figures.hpp"
#include "core/sync/recent_namespaces.hpp"
#include "core/sync/sync_report.hpp"

namespace sluice::sync {

struct ApplyRecord {
  bool full = false;
  double seconds = 0;
  std::uint64_t kernel_writes = 0;
  std::string result;  // "ok" or the code's name
  std::chrono::system_clock::time_point at;
};

// A copy for status; everything since start.
struct LoopStatus {
  bool synced = false;  // the last apply succeeded and nothing failed since
  std::uint64_t generation = 0;
  std::uint64_t objects_owned = 0;
  std::uint64_t full_syncs = 0;
  std::uint64_t delta_syncs = 0;
  std::uint64_t failures = 0;  // but for deltas that were answered by kNeedFull: everything followed at once
  std::uint64_t repairs = 0;  // damage to kernel state found and repaired
  std::uint64_t failed_objects = 0;
  std::uint64_t kernel_writes = 0;
  LeftOut left_out;
  double last_programming_seconds = -1;  // from the trigger annotation to the kernel; < 0 = never
  std::optional<ApplyRecord> last_apply;
  // As freshness().
  std::optional<std::chrono::system_clock::time_point> last_updated;
  std::optional<base::Clock::Time> pending_since;
  std::string last_error;  // of the last apply; empty if it succeeded
  std::string unwell;
  struct Failure {
    std::string error;
    std::chrono::system_clock::time_point at;
  };
  std::optional<Failure> last_failure;  // stays when a later apply succeeds
};

// How often the kernel is looked at for damage: with the default of `sync_period`, 30 s, what somebody broke is to be
// found and repaired within that time.
constexpr base::Clock::Duration verify_interval(base::Clock::Duration sync_period) {
  return std::min<base::Clock::Duration>(sync_period, std::chrono::seconds(20));
}

class SyncLoop {
 public:
  struct Options {
    RunnerIntervals intervals;
    base::Clock::Duration verify_every = verify_interval(std::chrono::seconds(30));
    base::Clock::Duration retry_left_out = std::chrono::minutes(1);  // the first time, then ever more rarely
    bool held = false;  // begins as after hold()
  };
  // A delta leaves changes in deferred namespaces for the next one.
  using Take =
      std::function<std::shared_ptr<const snapshot::Transaction>(bool full, const model::Namespaces& deferred)>;
  // Makes the backend; called once, on the apply thread.
  using MakeBackend =
      std::function<base::Result<std::unique_ptr<plugin::BackendHandle>>(plugin::HostCallbacks callbacks)>;
  // [apply thread] Artifacts the backend says it owns, after the first successful apply.
  using OnClaims = std::function<void(const std::vector<std::string>&)>;
  // [apply thread] The kernel has what the transaction says. Must not wait.
  using OnApplied = std::function<void(const snapshot::Transaction&)>;
  // [apply thread] An attempt is over, whatever came of it. Must not wait.
  using OnSynced = std::function<void(const SyncReport&)>;
  // [apply thread] The backend leaves a service port out, and did not do so for this reason
  // before. Must not wait.
  using OnLeftOut = std::function<void(const plugin::FailedServicePort&)>;
  // [apply thread] The backend is in this call of its start, "create" or "probe"; empty: the start is over.
  using OnStarting = std::function<void(std::string_view call)>;
  struct Callbacks {
    Take take;
    OnClaims on_claims;
    OnApplied on_applied{};  // may be empty
    OnSynced on_synced{};    // may be empty
    OnLeftOut on_left_out{};  // may be empty
    OnStarting on_starting{};                           // may be empty
    decltype(plugin::HostCallbacks::event) on_event{};  // [any thread of the plugin] may be empty
  };

  SyncLoop(Options options, const base::Clock& clock, Callbacks callbacks);
  ~SyncLoop();  // stops

  // Starts the thread, which makes and probes the backend; the result of that. A loop
  // whose start failed only remains to be destroyed.
  std::future<base::Status> start(MakeBackend make);
  // The current call ends, the backend is released; kernel state stays.
  void stop();

  // The following may be called by any thread but the apply thread, which does them between two runs, in the order they
  // were asked for. What they return is dropped, which std::future tells as broken_promise, when the loop ends before.

  // `f` is called with the backend; what it throws is in the future.
  template <class F>
  std::future<std::invoke_result_t<F&, plugin::BackendHandle&>> call(F f);
  // From the answer on nothing is applied or looked at, but by call(), inspect() and apply_full(), until resume(). What
  // is requested meanwhile waits, and is pending.
  std::future<void> hold();
  // Everything is sent again, at once, and all goes on as before.
  void resume();
  // A full transaction now, also while held; what came of it. Unavailable: there is none yet. While held a failure is
  // not followed by another attempt.
  std::future<base::Status> apply_full();
  // From now on, and as if they had been in force since the last run and the last look.
  void set_intervals(RunnerIntervals intervals, base::Clock::Duration verify_every);

  // [any thread] Something changed, in these namespaces if they are known. A namespace that had no part in the last
  // runs gets an early run, within the limits of BoundedRunner.
  void request(const model::Namespaces& changed = {});
  // [any thread] Kernel state is not to be trusted: send everything.
  void request_full(std::string reason);

  LoopStatus status() const;
  // [any thread] Cheaper than status(), and never held up by an apply.
  FreshnessValue freshness() const { return freshness_.value(); }
  // [any thread] LoopStatus::last_error.
  std::string last_error() const;
  // [any thread] The numbers of status(), cheaply.
  LoopFigures figures() const;
  // [any thread, after a successful start] Whether the backend can tell what the kernel has.
  bool inspectable() const { return inspectable_; }
  struct Inspect {
    std::string name;              // empty: everything
    std::function<bool()> wanted;  // asked right before; by then somebody may have given up
    // [apply thread] Must not wait. Dropped without a call when nobody wants it any more, or the loop ends.
    std::function<void(plugin::InspectionOutcome)> done;
  };
  // [any thread] Asks the backend between two runs; what is due to be written goes first.
  // REQUIRES: inspectable()
  void inspect(Inspect question) { queue_.put(std::move(question)); }
  // [any thread] The backend call in progress, or empty.
  std::string_view in_progress() const;
  std::string_view overdue() const;  // the backend call that is past its limit

 private:
  struct Request {
    bool early = false;
  };
  struct RequestFull {
    std::string reason;
  };
  struct Unwell {
    std::string reason;
  };
  struct Call {
    std::function<void(plugin::BackendHandle&)> task;
  };
  struct Hold {
    std::promise<void> held;
  };
  struct Resume {};
  struct ApplyFull {
    std::promise<base::Status> done;
  };
  struct SetIntervals {
    RunnerIntervals intervals;
    base::Clock::Duration verify_every;
  };
  using Message =
      std::variant<Request, RequestFull, Unwell, Inspect, Call, Hold, Resume, ApplyFull, SetIntervals>;

  void run(MakeBackend make, std::promise<base::Status> ready);
  base::Status prepare(MakeBackend make);
  void serve();
  void handle(Request& message);
  void handle(RequestFull& message);
  void handle(Unwell& message);
  void handle(Inspect& message) { questions_.push_back(std::move(message)); }
  void handle(Call& message) { message.task(*backend_); }
  void handle(Hold& message);
  void handle(Resume& message);
  void handle(ApplyFull& message);
  void handle(SetIntervals& message);
  base::Status run_once(bool full);
  void note_triggers(const std::vector<std::chrono::system_clock::time_point>& times);
  void retry_left_out();
  base::Status apply(const snapshot::Transaction& transaction, SyncReport& report, RunOutcome& outcome);
  void queued();
  void note_updated(const snapshot::Transaction& transaction, std::chrono::system_clock::time_point at);
  void verify();
  void inspect_next();
  void report_claims();
  void report_left_out(const plugin::ApplyOutcome& outcome);

  const base::Clock& clock_;
  const Callbacks callbacks_;
  base::HandoverQueue<Message> queue_;
  std::thread thread_;

  // Apply thread only.
  BoundedRunner runner_;
  std::unique_ptr<plugin::BackendHandle> backend_;
  bool held_;
  base::Clock::Duration verify_every_;
  base::LogBudget left_out_lines_;
  bool need_full_ = true;
  bool delta_supported_ = false;
  bool applied_once_ = false;
  bool claims_told_ = false;
  std::string claims_trouble_;  // why not yet
  base::Clock::Time next_verify_ = base::Clock::Time::max();
  std::vector<std::chrono::system_clock::time_point> trigger_times_;  // until the kernel has them
  std::deque<Inspect> questions_;

  std::atomic<bool> asked_{false};        // a request waits for the next run
  std::atomic<bool> asked_early_{false};  // and one of them is early
  RecentNamespaces recent_;
  std::atomic<std::chrono::system_clock::time_point> last_queued_{};  // the epoch = not yet
  Freshness freshness_;
  std::atomic<bool> inspectable_{false};
  mutable std::mutex mutex_;
  LoopStatus status_;                                    // under mutex_
  std::atomic<const plugin::BackendHandle*> observed_{nullptr};
};

template <class F>
std::future<std::invoke_result_t<F&, plugin::BackendHandle&>> SyncLoop::call(F f) {
  using Task = std::packaged_task<std::invoke_result_t<F&, plugin::BackendHandle&>(plugin::BackendHandle&)>;
  auto task = std::make_shared<Task>(std::move(f));
  auto answer = task->get_future();
  queue_.put(Call{[task](plugin::BackendHandle& backend) { (*task)(backend); }});
  return answer;
}

}  // namespace sluice::sync
