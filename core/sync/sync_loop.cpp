// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/sync_loop.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/snapshot/flatten.hpp"
#include "core/sync/run_cost.hpp"

namespace sluice::sync {
namespace {

std::string_view code_name(abi::Code code) {
  switch (code) {
    case abi::Code::kOk: return "ok";
    case abi::Code::kRetry: return "retry";
    case abi::Code::kNeedFull: return "need-full";
    case abi::Code::kInvalid: return "invalid";
    case abi::Code::kUnsupported: return "unsupported";
    case abi::Code::kDenied: return "denied";
    case abi::Code::kKernel: return "kernel";
    case abi::Code::kInternal: return "internal";
  }
  return "internal";
}

double seconds(lib::Clock::Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

SyncLoop::SyncLoop(Options options, LoopId id, TransactionSource& source, SyncObserver& observer,
                   const lib::Clock& clock)
    : id_(std::move(id)),
      source_(source),
      observer_(observer),
      clock_(clock),
      runner_(options.intervals, clock),
      held_(options.held),
      verify_every_(options.verify_every),
      not_programmed_log_(clock),
      recent_(runner_.interval()) {
  status_.not_programmed = NotProgrammed(RetryClock(options.retry_not_programmed));
}

SyncLoop::~SyncLoop() { stop(); }

std::future<lib::Status> SyncLoop::start(MakeBackend make) {
  std::promise<lib::Status> ready;
  auto result = ready.get_future();
  thread_ = std::thread([this, make = std::move(make), ready = std::move(ready)]() mutable {
    run(std::move(make), std::move(ready));
  });
  return result;
}

void SyncLoop::stop() {
  queue_.close();
  cancel();
  if (thread_.joinable()) thread_.join();
}

// Many changes per second wake the apply thread for the first one only, and for the first early one.
void SyncLoop::request(const model::Namespaces& changed) {
  note_request();
  const auto now = clock_.now();
  const bool early = !early_request_queued_ && recent_.lacks_any(changed, now);
  if (early && !early_request_queued_.exchange(true)) {
    request_queued_ = true;
    queue_.put(Request{true, now});
  } else if (!request_queued_.exchange(true)) {
    queue_.put(Request{false, now});
  }
}

void SyncLoop::request_full(std::string reason) {
  note_request();
  queue_.put(RequestFull{std::move(reason)});
}

std::future<void> SyncLoop::hold() {
  Hold message;
  auto held = message.held.get_future();
  set_cancelled(kCancelledByHold);
  queue_.put(std::move(message));
  return held;
}

void SyncLoop::resume() { queue_.put(Resume{}); }

std::future<lib::Status> SyncLoop::apply_full() {
  ApplyFull message;
  auto done = message.done.get_future();
  queue_.put(std::move(message));
  return done;
}

void SyncLoop::set_intervals(RunnerIntervals intervals, lib::Clock::Duration verify_every) {
  queue_.put(SetIntervals{intervals, verify_every});
}

// The kernel has all changes requested before the transaction was taken, unless the transaction is partial.
void SyncLoop::note_updated(const snapshot::Transaction& transaction, std::chrono::system_clock::time_point at) {
  if (transaction.partial) {
    freshness_.updated_partly();
  } else {
    freshness_.updated(at);
  }
}

// A change or drift waits for the next run from now on.
void SyncLoop::note_request() {
  freshness_.requested(clock_.now());
  last_queued_ = std::chrono::system_clock::now();
}

LoopStatistics SyncLoop::statistics() const {
  LoopStatistics out;
  if (const auto at = last_queued_.load(); at != std::chrono::system_clock::time_point()) out.last_queued = at;
  const lib::Lock lock(mutex_);
  out.failures = status_.failures;
  out.repairs = status_.repairs;
  out.objects_owned = status_.objects_owned;
  out.kernel_writes = status_.kernel_writes;
  out.not_programmed = status_.not_programmed.reasons().size();
  out.unwell = !status_.unhealthy_reason.empty();
  return out;
}

std::string SyncLoop::last_error() const {
  const lib::Lock lock(mutex_);
  return status_.last_error;
}

LoopStatus SyncLoop::status() const {
  const FreshnessValue fresh = freshness_.value();
  const lib::Lock lock(mutex_);
  LoopStatus out = status_;
  out.last_updated = fresh.last_updated;
  out.pending_since = fresh.pending_since;
  return out;
}

// The lock keeps the backend alive.
std::string_view SyncLoop::overdue() const {
  const lib::Lock lock(mutex_);
  const plugin::BackendHandle* backend = watched_backend_.load();
  return backend == nullptr ? std::string_view() : backend->overdue();
}

std::vector<plugin::StatusFact> SyncLoop::facts() const {
  const lib::Lock lock(mutex_);
  const plugin::BackendHandle* backend = watched_backend_.load();
  return backend == nullptr ? std::vector<plugin::StatusFact>() : backend->facts();
}

std::string_view SyncLoop::in_progress() const {
  const lib::Lock lock(mutex_);
  const plugin::BackendHandle* backend = watched_backend_.load();
  return backend == nullptr ? std::string_view() : backend->in_progress();
}

void SyncLoop::run(MakeBackend make, std::promise<lib::Status> ready) {
  lib::Status probed = create_and_probe(std::move(make));
  observer_.call_started({id_, {}});
  const bool usable = probed.ok();
  ready.set_value(std::move(probed));
  if (usable) serve();
  {
    const lib::Lock lock(mutex_);
    watched_backend_ = nullptr;
  }
  backend_.reset();
  // Dropping the remaining messages breaks their promises, so that their callers return.
  queue_.close();
  queue_.take_all();
}

lib::Status SyncLoop::create_and_probe(MakeBackend make) {
  observer_.call_started({id_, "create"});
  auto made = make(*this);
  if (!made) return made.status();
  backend_ = std::move(*made);
  observer_.call_started({id_, "probe"});
  if (const auto probed = backend_->probe(); !probed.ok()) return probed.status(backend_->name(), "probe");
  delta_supported_ = backend_->plugin().has(abi::kFeatureDelta);
  inspectable_ = backend_->inspectable();
  watched_backend_ = backend_.get();
  freshness_.begun(std::chrono::system_clock::now(), clock_.now());
  last_queued_ = std::chrono::system_clock::now();  // BEH 10.4: also when the loop begins
  return {};
}

void SyncLoop::serve() {
  while (!queue_.closed()) {
    auto next = lib::Clock::Time::max();
    if (!held_) {
      const lib::Lock lock(mutex_);
      next = std::min({runner_.next_run(), next_verify_, status_.not_programmed.next_retry()});
    }
    for (Message& message : queue_.take_all(inspections_.empty() ? next : clock_.now())) {
      if (queue_.closed()) break;
      std::visit([this](auto& m) { handle(m); }, message);
    }
    if (queue_.closed()) break;
    // Verify first, so that the next run repairs the drift.
    if (!held_ && clock_.now() >= next_verify_) verify();
    if (!held_) retry_not_programmed();
    // After the maximum interval the transaction is full: the backend compares it with the kernel and writes the
    // differences, usually none. The result is in the status, and a failure is retried when it is due.
    if (!held_ && runner_.due()) static_cast<void>(run_once(need_full_ || !runner_.requested() || !delta_supported_));
    // One inspection at a time, so that a run that became due is not delayed by the next one.
    inspect_next();
  }
  inspections_.clear();
}

// After a failure the next transaction is full anyway.
void SyncLoop::retry_not_programmed() {
  std::size_t count = 0;
  {
    const lib::Lock lock(mutex_);
    if (!status_.not_programmed.retry_due(clock_.now()) || need_full_) return;
    count = status_.not_programmed.reasons().size();
  }
  base::log(
      base::message::kResyncRetry,
      backend_->name() + ": full resync: retrying " + std::to_string(count) + " service ports that are not programmed",
      {{"backend", id_.backend}, {"family", lib::family_name(id_.family)}, {"count", count}});
  need_full_ = true;
  runner_.request();
}

// A backend without deltas receives everything in each run: an early run would cost as much as any other.
void SyncLoop::handle(Request& message) {
  if (!waiting_since_) waiting_since_ = message.at;
  if (message.early && delta_supported_) {
    runner_.request_early();
  } else {
    runner_.request();
  }
}

void SyncLoop::handle(RequestFull& message) {
  // verify() recognizes drift, which counts as a repair. While held, another backend writes to the kernel.
  if (!held_ && !need_full_) verify();
  if (!held_ && !need_full_)
    base::log(base::message::kResync, backend_->name() + ": full resync: " + message.reason,
              {{"backend", id_.backend}, {"family", lib::family_name(id_.family)}, {"reason", message.reason}});
  need_full_ = true;
  runner_.request();
}

void SyncLoop::handle(Unhealthy& message) {
  const lib::Lock lock(mutex_);
  status_.unhealthy_reason = std::move(message.reason);
}

void SyncLoop::handle(Hold& message) {
  held_ = true;
  std::atomic_ref(cancelled_).fetch_and(~kCancelledByHold);
  message.held.set_value();
}

void SyncLoop::handle(Resume&) {
  if (!std::exchange(held_, false)) return;
  need_full_ = true;
  note_request();
  // Another backend may have written meanwhile, so the run starts at once, and it also replaces the next verification.
  runner_.request_at_once();
  if (next_verify_ != lib::Clock::Time::max()) next_verify_ = clock_.now() + verify_every_;
}

void SyncLoop::handle(ApplyFull& message) { message.done.set_value(run_once(true)); }

void SyncLoop::handle(SetIntervals& message) {
  runner_.set_intervals(message.intervals);
  recent_.set_minimum(runner_.interval());
  const auto before = std::exchange(verify_every_, message.verify_every);
  if (next_verify_ != lib::Clock::Time::max()) next_verify_ += verify_every_ - before;
}

// An inspection does not cause a sync.
void SyncLoop::inspect_next() {
  if (inspections_.empty()) return;
  const Inspect inspection = std::move(inspections_.front());
  inspections_.pop_front();
  if (inspection.wanted()) inspection.done(backend_->inspect(inspection.request));
}

// Trigger times accumulate while applies fail, and come from annotations that tenants write. Their number is therefore
// limited.
void SyncLoop::add_trigger_times(const std::vector<std::chrono::system_clock::time_point>& times) {
  const std::size_t room = snapshot::kMostTriggerTimes - std::min(trigger_times_.size(), snapshot::kMostTriggerTimes);
  trigger_times_.insert(trigger_times_.end(), times.begin(),
                        times.begin() + static_cast<std::ptrdiff_t>(std::min(times.size(), room)));
}

lib::Status SyncLoop::run_once(bool full) {
  runner_.started();
  const model::Namespaces deferred = full || !runner_.runs_early() ? model::Namespaces() : recent_.names(clock_.now());
  request_queued_ = early_request_queued_ = false;  // before the transaction is taken: later changes need another run
  const auto begin = clock_.now();
  const RunCost cost(clock_);
  const auto waiting_since = std::exchange(waiting_since_, {});
  freshness_.taken(begin);
  const auto transaction = source_.take(full, deferred);
  if (!transaction) {  // stopping, or not everything is listed yet
    runner_.finished(RunOutcome::not_ready);
    return lib::unavailable("backend " + backend_->name() + ": apply: the cluster has not been listed yet");
  }
  add_trigger_times(transaction->trigger_times);
  recent_.note(*transaction, clock_.now());
  SyncReport report;
  report.full = transaction->full;
  if (waiting_since && !transaction->empty()) report.waited_seconds = seconds(begin - *waiting_since);
  report.select_seconds = seconds(clock_.now() - begin);
  RunOutcome outcome = RunOutcome::done;
  lib::Status status;
  if (transaction->empty()) {
    outcome = RunOutcome::nothing;
    report.ok = true;
    report.at = std::chrono::system_clock::now();
    note_updated(*transaction, report.at);
  } else {
    status = apply(*transaction, report, outcome);
    // The backend answered a delta with kNeedFull, which is no failure.
    if (status.ok() && need_full_) return run_once(true);
  }
  report.seconds = seconds(clock_.now() - begin);
  if (report.ok) report.trigger_times = std::exchange(trigger_times_, {});
  runner_.finished(outcome, cost.so_far());
  recent_.set_minimum(runner_.interval());
  report.interval_seconds = seconds(runner_.interval());
  if (transaction->partial) {
    runner_.request();
    waiting_since_ = waiting_since;
  }
  recent_.note(*transaction, clock_.now());
  if (outcome != RunOutcome::cancelled) observer_.synced({id_, report});
  // The backend compares a full transaction with the kernel, so it replaces a verification.
  if (transaction->full) next_verify_ = clock_.now() + verify_every_;
  return status;
}

lib::Status SyncLoop::apply(const snapshot::Transaction& transaction, SyncReport& report, RunOutcome& next) {
  observer_.writing({id_, true});
  lib::Status status = apply_and_report(transaction, report, next);
  observer_.writing({id_, false});
  return status;
}

lib::Status SyncLoop::apply_and_report(const snapshot::Transaction& transaction, SyncReport& report, RunOutcome& next) {
  const auto begin = clock_.now();
  plugin::ApplyOutcome outcome;
  {
    const snapshot::FlatTransaction flat(transaction);
    outcome = backend_->apply(*flat.get(), &cancelled_);
  }
  if (!transaction.full && outcome.code == abi::Code::kNeedFull) {
    base::log(base::message::kResyncInsteadOfDelta, backend_->name() + ": full resync: " + outcome.message,
              {{"backend", id_.backend}, {"family", lib::family_name(id_.family)}, {"reason", outcome.message}});
    need_full_ = true;
    return {};
  }
  const double apply_seconds = seconds(clock_.now() - begin);
  if (outcome.code == abi::Code::kRetry && is_cancelled()) {
    base::log(base::message::kSyncCancelled,
              backend_->name() + ": apply cancelled after " + std::to_string(apply_seconds) + " s: " + outcome.message,
              {{"backend", id_.backend},
               {"family", lib::family_name(id_.family)},
               {"generation", transaction.generation},
               {"seconds", apply_seconds}});
    need_full_ = true;
    next = RunOutcome::cancelled;
    const lib::Lock lock(mutex_);
    status_.synced = false;
    return outcome.status(backend_->name(), "apply");
  }
  const auto at = std::chrono::system_clock::now();
  report.ok = outcome.ok();
  report.at = at;
  report.apply_seconds = apply_seconds;
  report.kernel_seconds = seconds(outcome.kernel_time);
  add_withheld(transaction, outcome.reports);
  report_not_programmed(outcome);
  // A delta cannot be sent twice, so a full transaction must follow a failure.
  need_full_ = !outcome.ok();

  lib::Status status;
  if (!outcome.ok()) {
    status = outcome.status(backend_->name(), "apply");
    const bool may_pass = outcome.code == abi::Code::kRetry || outcome.code == abi::Code::kNeedFull;
    base::log(base::message::kSyncFailed.at(may_pass ? base::LogLevel::warning : base::LogLevel::error),
              status.message(),
              {{"backend", id_.backend},
               {"family", lib::family_name(id_.family)},
               {"generation", transaction.generation},
               {"error", outcome.message}});
  } else if (const base::LogMessage synced =
                 base::message::kSynced.at(applied_once_ ? base::LogLevel::debug : base::LogLevel::info);
             transaction.full || base::log_enabled(synced)) {
    base::log(synced,
              backend_->name() + ": generation " + std::to_string(transaction.generation) + ", " +
                  (transaction.full ? "full, " : "delta, ") + std::to_string(transaction.service_ports.size()) +
                  " service ports, " + std::to_string(transaction.removed.size()) + " removed, " +
                  std::to_string(outcome.kernel_writes) + " kernel writes, " + std::to_string(apply_seconds) + " s",
              {{"backend", id_.backend},
               {"family", lib::family_name(id_.family)},
               {"generation", transaction.generation},
               {"count", transaction.service_ports.size()},
               {"seconds", apply_seconds}});
  }
  {
    const lib::Lock lock(mutex_);
    ++(transaction.full ? status_.full_syncs : status_.delta_syncs);
    status_.synced = outcome.ok();
    status_.last_apply =
        ApplyRecord{transaction.full, apply_seconds, outcome.kernel_writes, std::string(code_name(outcome.code)), at};
    status_.failed_objects += outcome.reports.failed.size();
    status_.kernel_writes += outcome.kernel_writes;
    if (outcome.ok()) {
      status_.not_programmed.note(transaction, outcome.reports, clock_.now());
      status_.generation = transaction.generation;
      status_.objects_owned = outcome.objects_owned;
      status_.last_error.clear();
      if (!trigger_times_.empty()) {
        status_.last_programming_seconds =
            std::chrono::duration<double>(at - *std::max_element(trigger_times_.begin(), trigger_times_.end())).count();
      }
    } else {
      ++status_.failures;
      status_.last_error = status.message();
      status_.last_failure = LoopStatus::Failure{status.message(), at};
    }
  }
  if (outcome.ok()) {
    note_updated(transaction, at);
    observer_.applied({id_, transaction});
    report_claims();
    applied_once_ = true;
    next = RunOutcome::done;
    return status;
  }
  // After a failed delta, a full transaction may succeed: for example, it restores rules that another process removed.
  const bool temporary = outcome.code == abi::Code::kRetry || outcome.code == abi::Code::kNeedFull;
  next = temporary || !transaction.full ? RunOutcome::retry_soon : RunOutcome::failed;
  return status;
}

void SyncLoop::verify() {
  next_verify_ = clock_.now() + verify_every_;
  const plugin::Outcome outcome = backend_->verify();
  if (outcome.ok()) {
    if (applied_once_) report_claims();
    return;
  }
  const std::string text = outcome.status(backend_->name(), "verify").message();
  if (outcome.code != abi::Code::kNeedFull) {
    base::log(base::message::kVerifyFailed, text,
              {{"backend", id_.backend}, {"family", lib::family_name(id_.family)}, {"error", text}});
    return;
  }
  // If a full transaction is already pending because of a failure, the difference is not drift.
  if (!need_full_) {
    base::log(base::message::kDriftRepair, text + "; repairing",
              {{"backend", id_.backend}, {"family", lib::family_name(id_.family)}, {"error", text}});
    const lib::Lock lock(mutex_);
    ++status_.repairs;
  }
  need_full_ = true;
  note_request();
  runner_.request();
}

// Logs each reason once, although each full transaction retries the service port. Must run before
// NotProgrammed::note().
void SyncLoop::report_not_programmed(const plugin::ApplyOutcome& outcome) {
  for (const auto& one : outcome.reports.failed) {
    bool is_new = false;
    {
      const lib::Lock lock(mutex_);
      const auto& known = status_.not_programmed.reasons();
      const auto before = known.find(one.port);
      is_new = before == known.end() || before->second != one.message;
    }
    std::string text = backend_->name() + ": " + one.port.printed() + " not programmed: " + one.message;
    if (is_new) {
      not_programmed_log_.log(base::message::kNotProgrammed, std::move(text),
                              {{"backend", id_.backend},
                               {"family", lib::family_name(id_.family)},
                               {"service", one.port.printed()},
                               {"error", one.message}});
    } else {
      base::log(base::message::kNotProgrammedAgain, text,
                {{"backend", id_.backend},
                 {"family", lib::family_name(id_.family)},
                 {"service", one.port.printed()},
                 {"error", one.message}});
    }
    if (is_new && outcome.ok()) observer_.not_programmed({id_, one});
  }
}

// Reported once, and retried after each success until the backend returns its claims: the ownership ledger and the
// clean-up at start need them.
void SyncLoop::report_claims() {
  if (claims_reported_) return;
  const plugin::ClaimsOutcome outcome = backend_->claims();
  claims_reported_ = outcome.ok();
  if (claims_reported_) {
    observer_.claimed({id_, outcome.claims});
    return;
  }
  std::string error = outcome.status(backend_->name(), "claims").message() + "; will retry";
  if (error != claims_error_)
    base::log(base::message::kClaimsFailed, error,
              {{"backend", id_.backend}, {"family", lib::family_name(id_.family)}, {"error", error}});
  claims_error_ = std::move(error);
}

}  // namespace sluice::sync
