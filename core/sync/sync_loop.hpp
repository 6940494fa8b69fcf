// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sync loop of one address family. Its apply thread decides when to take a transaction and whether it is full,
// sends it to the backend, and handles the result. No other thread calls the backend.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/log_budget.hpp"
#include "core/plugin/backend_handle.hpp"
#include "core/snapshot/transaction.hpp"
#include "core/sync/bounded_runner.hpp"
#include "core/sync/freshness.hpp"
#include "core/sync/loop_statistics.hpp"
#include "core/sync/not_programmed.hpp"
#include "core/sync/recent_namespaces.hpp"
#include "core/sync/sync_observer.hpp"
#include "core/sync/sync_report.hpp"
#include "core/sync/transaction_source.hpp"
#include "lib/mutex.hpp"
#include "lib/queue.hpp"

namespace sluice::sync {

struct ApplyRecord {
  bool full = false;
  double seconds = 0;
  std::uint64_t kernel_writes = 0;
  std::string result;  // "ok" or the code's name
  std::chrono::system_clock::time_point at;
};

// The status of a loop. Counters count from its start.
struct LoopStatus {
  bool synced = false;  // the last apply succeeded and nothing failed since
  std::uint64_t generation = 0;
  std::uint64_t objects_owned = 0;
  std::uint64_t full_syncs = 0;
  std::uint64_t delta_syncs = 0;
  std::uint64_t failures = 0;  // without deltas answered by kNeedFull, which a full transaction followed at once
  std::uint64_t repairs = 0;   // drift of kernel state that was found and repaired
  std::uint64_t failed_objects = 0;
  std::uint64_t kernel_writes = 0;
  NotProgrammed not_programmed;
  double last_programming_seconds = -1;  // from the trigger annotation to the kernel; negative: never
  std::optional<ApplyRecord> last_apply;
  // As freshness().
  std::optional<std::chrono::system_clock::time_point> last_updated;
  std::optional<lib::Clock::Time> pending_since;
  std::string last_error;  // of the last apply; empty if it succeeded
  std::string unhealthy_reason;  // reported by the backend; empty: healthy
  struct Failure {
    std::string error;
    std::chrono::system_clock::time_point at;
  };
  std::optional<Failure> last_failure;  // kept when a later apply succeeds
};

// How often kernel state is checked for drift. With the default `sync_period` of 30 s, drift must be found and repaired
// within that time.
constexpr lib::Clock::Duration verify_interval(lib::Clock::Duration sync_period) {
  return std::min<lib::Clock::Duration>(sync_period, std::chrono::seconds(20));
}

class SyncLoop final : private plugin::HostObserver {
 public:
  struct Options {
    RunnerIntervals intervals;
    lib::Clock::Duration verify_every = verify_interval(std::chrono::seconds(30));
    lib::Clock::Duration retry_not_programmed = std::chrono::minutes(1);  // the first delay of the backoff
    bool held = false;                                                     // start as after hold()
  };
  // Makes the backend with this observer; called once, on the apply thread.
  using MakeBackend =
      std::function<lib::Result<std::unique_ptr<plugin::BackendHandle>>(plugin::HostObserver& observer)>;

  // `id` is that of the events. The other objects must outlive the loop.
  SyncLoop(Options options, LoopId id, TransactionSource& source, SyncObserver& observer, const lib::Clock& clock);
  ~SyncLoop() override;  // stops

  // Starts the apply thread, which makes and probes the backend, and returns the result of both. If it is an error, the
  // loop must be destroyed.
  std::future<lib::Status> start(MakeBackend make);
  // Cancels an apply() in progress, waits for the current backend call and releases the backend. Kernel state is kept.
  void stop();
  // [any thread] Sets abi::Transaction::cancelled for the apply() in progress and all that follow, because the results
  // are no longer needed. Other calls are not affected.
  void cancel() { set_cancelled(kCancelled); }

  // Any thread except the apply thread may call the following functions. The apply thread executes them between two
  // runs, in the order of the calls. If the loop ends before, their futures have the error broken_promise.

  // Calls `f` with the backend. The future receives its exceptions.
  template <class F>
  std::future<std::invoke_result_t<F&, plugin::BackendHandle&>> call(F f);
  // Cancels an apply() in progress. Once the future is ready, the loop applies and verifies nothing until resume(), except
  // in call(), inspect() and apply_full(). Requests stay pending meanwhile.
  std::future<void> hold();
  // Ends hold() and starts with a full transaction at once.
  void resume();
  // Applies a full transaction now, also while held, and returns the result. Unavailable: the cluster is not listed
  // yet. While held, a failure is not retried.
  std::future<lib::Status> apply_full();
  // The new intervals count from the last run and the last verification.
  void set_intervals(RunnerIntervals intervals, lib::Clock::Duration verify_every);

  // [any thread] Requests a run for a change, in these namespaces if they are known. A namespace without changes in
  // recent runs gets an early run, within the limits of BoundedRunner.
  void request(const model::Namespaces& changed = {});
  // [any thread] Requests a full resync, because kernel state may have drifted.
  void request_full(std::string reason);

  LoopStatus status() const;
  // [any thread] Cheaper than status().
  FreshnessValue freshness() const { return freshness_.value(); }
  // [any thread] LoopStatus::last_error.
  std::string last_error() const;
  // [any thread] The numbers of status(), without its strings.
  LoopStatistics statistics() const;
  // [any thread, after a successful start] Whether the backend can read back kernel state.
  bool inspectable() const { return inspectable_; }
  struct Inspect {
    plugin::InspectionRequest request;
    std::function<bool()> wanted;  // called just before the inspection; false: the client has disconnected
    // [apply thread] Must not block. Not called if wanted() returns false or the loop ends.
    std::function<void(plugin::InspectionOutcome)> done;
  };
  // [any thread] Inspects the backend between two runs. A run that is due comes first.
  // REQUIRES: inspectable()
  void inspect(Inspect question) { queue_.put(std::move(question)); }
  // [any thread] The backend call in progress, or empty.
  std::string_view in_progress() const;
  std::string_view overdue() const;  // the backend call that exceeds its timeout, or empty
  // [any thread] The facts that the backend shows in the status.
  std::vector<plugin::StatusFact> facts() const;

 private:
  struct Request {
    bool early = false;
    lib::Clock::Time at{};
  };
  struct RequestFull {
    std::string reason;
  };
  struct Unhealthy {
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
    std::promise<lib::Status> done;
  };
  struct SetIntervals {
    RunnerIntervals intervals;
    lib::Clock::Duration verify_every;
  };
  using Message = std::variant<Request, RequestFull, Unhealthy, Inspect, Call, Hold, Resume, ApplyFull, SetIntervals>;

  // plugin::HostObserver
  void resync_requested(std::string reason) override { request_full(std::move(reason)); }
  void health_reported(std::string reason) override { queue_.put(Unhealthy{std::move(reason)}); }
  void event_reported(abi::Severity severity, const std::string& reason, const std::string& note,
                      const std::optional<plugin::ServicePortName>& regarding) override {
    observer_.reported({id_, severity, reason, note, regarding});
  }
  void relayed(plugin::RelayedPort port) override { observer_.relayed({id_, std::move(port)}); }

  // Reasons for abi::Transaction::cancelled, as bits.
  static constexpr std::uint32_t kCancelled = 1u << 0;
  static constexpr std::uint32_t kCancelledByHold = 1u << 1;  // until the loop is held
  void set_cancelled(std::uint32_t reason) { std::atomic_ref(cancelled_).fetch_or(reason); }
  bool is_cancelled() { return std::atomic_ref(cancelled_).load() != 0; }

  void run(MakeBackend make, std::promise<lib::Status> ready);
  lib::Status create_and_probe(MakeBackend make);
  void serve();
  void handle(Request& message);
  void handle(RequestFull& message);
  void handle(Unhealthy& message);
  void handle(Inspect& message) { inspections_.push_back(std::move(message)); }
  void handle(Call& message) { message.task(*backend_); }
  void handle(Hold& message);
  void handle(Resume& message);
  void handle(ApplyFull& message);
  void handle(SetIntervals& message);
  lib::Status run_once(bool full);
  void add_trigger_times(const std::vector<std::chrono::system_clock::time_point>& times);
  void retry_not_programmed();
  lib::Status apply(const snapshot::Transaction& transaction, SyncReport& report, RunOutcome& next);
  lib::Status apply_and_report(const snapshot::Transaction& transaction, SyncReport& report, RunOutcome& next);
  void note_request();
  void note_updated(const snapshot::Transaction& transaction, std::chrono::system_clock::time_point at);
  void verify();
  void inspect_next();
  void report_claims();
  void report_not_programmed(const plugin::ApplyOutcome& outcome);

  const LoopId id_;
  TransactionSource& source_;
  SyncObserver& observer_;
  const lib::Clock& clock_;
  lib::HandoverQueue<Message> queue_;
  std::thread thread_;

  // Apply thread only.
  BoundedRunner runner_;
  std::unique_ptr<plugin::BackendHandle> backend_;
  bool held_;
  lib::Clock::Duration verify_every_;
  base::LogBudget not_programmed_log_;
  bool need_full_ = true;
  bool delta_supported_ = false;
  bool applied_once_ = false;
  bool claims_reported_ = false;
  std::string claims_error_;  // the last logged one
  lib::Clock::Time next_verify_ = lib::Clock::Time::max();
  std::optional<lib::Clock::Time> waiting_since_;  // the first change that waits for the next run
  std::vector<std::chrono::system_clock::time_point> trigger_times_;  // of changes that are not in the kernel yet
  std::deque<Inspect> inspections_;

  std::uint32_t cancelled_ = 0;  // read by the backend; every access is atomic
  std::atomic<bool> request_queued_{false};        // a request waits for the next run
  std::atomic<bool> early_request_queued_{false};  // an early request waits for the next run
  RecentNamespaces recent_;
  std::atomic<std::chrono::system_clock::time_point> last_queued_{};  // the epoch = not yet
  Freshness freshness_;
  std::atomic<bool> inspectable_{false};
  mutable lib::Mutex mutex_;
  LoopStatus status_ SLUICE_GUARDED_BY(mutex_);
  // For in_progress(), overdue() and facts(). Null before the probe has succeeded, and after the last run.
  std::atomic<const plugin::BackendHandle*> watched_backend_{nullptr};
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
