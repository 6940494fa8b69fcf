// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/sync_loop.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log.hpp"
#include "core/snapshot/flatten.hpp"

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

double seconds(base::Clock::Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

SyncLoop::SyncLoop(Options options, const base::Clock& clock, Callbacks callbacks)
    : clock_(clock),
      callbacks_(std::move(callbacks)),
      runner_(options.intervals, clock),
      held_(options.held),
      verify_every_(options.verify_every),
      left_out_lines_(clock),
      recent_(options.intervals.min) {
  status_.left_out = LeftOut(RetryClock(options.retry_left_out));
}

SyncLoop::~SyncLoop() { stop(); }

std::future<base::Status> SyncLoop::start(MakeBackend make) {
  std::promise<base::Status> ready;
  auto result = ready.get_future();
  thread_ = std::thread([this, make = std::move(make), ready = std::move(ready)]() mutable {
    run(std::move(make), std::move(ready));
  });
  return result;
}

void SyncLoop::stop() {
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

// Among many changes a second the apply thread wakes up for the first one only, and for the first that may run early.
void SyncLoop::request(const model::Namespaces& changed) {
  queued();
  const bool early = !asked_early_ && recent_.lacks_one_of(changed, clock_.now());
  if (early && !asked_early_.exchange(true)) {
    asked_ = true;
    queue_.put(Request{true});
  } else if (!asked_.exchange(true)) {
    queue_.put(Request{});
  }
}

void SyncLoop::request_full(std::string reason) {
  queued();
  queue_.put(RequestFull{std::move(reason)});
}

std::future<void> SyncLoop::hold() {
  Hold message;
  auto held = message.held.get_future();
  queue_.put(std::move(message));
  return held;
}

void SyncLoop::resume() { queue_.put(Resume{}); }

std::future<base::Status> SyncLoop::apply_full() {
  ApplyFull message;
  auto done = message.done.get_future();
  queue_.put(std::move(message));
  return done;
}

void SyncLoop::set_intervals(RunnerIntervals intervals, base::Clock::Duration verify_every) {
  queue_.put(SetIntervals{intervals, verify_every});
}

// All that was requested before the transaction was taken is in the kernel, unless it is partial.
void SyncLoop::note_updated(const snapshot::Transaction& transaction, std::chrono::system_clock::time_point at) {
  if (transaction.partial) {
    freshness_.updated_partly();
  } else {
    freshness_.updated(at);
  }
}

// A change, or damage, waits for the next run.
void SyncLoop::queued() {
  freshness_.requested(clock_.now());
  last_queued_ = std::chrono::system_clock::now();
}

LoopFigures SyncLoop::figures() const {
  LoopFigures out;
  if (const auto at = last_queued_.load(); at != std::chrono::system_clock::time_point()) out.last_queued = at;
  const std::lock_guard lock(mutex_);
  out.failures = status_.failures;
  out.repairs = status_.repairs;
  out.objects_owned = status_.objects_owned;
  out.kernel_writes = status_.kernel_writes;
  out.left_out = status_.left_out.reasons().size();
  out.unwell = !status_.unwell.empty();
  return out;
}

std::string SyncLoop::last_error() const {
  const std::lock_guard lock(mutex_);
  return status_.last_error;
}

LoopStatus SyncLoop::status() const {
  const FreshnessValue fresh = freshness_.value();
  const std::lock_guard lock(mutex_);
  LoopStatus out = status_;
  out.last_updated = fresh.last_updated;
  out.pending_since = fresh.pending_since;
  return out;
}

// Under the lock the backend is not let go of.
std::string_view SyncLoop::overdue() const {
  const std::lock_guard lock(mutex_);
  const plugin::BackendHandle* backend = observed_.load();
  return backend == nullptr ? std::string_view() : backend->overdue();
}

std::string_view SyncLoop::in_progress() const {
  const std::lock_guard lock(mutex_);
  const plugin::BackendHandle* backend = observed_.load();
  return backend == nullptr ? std::string_view() : backend->in_progress();
}

void SyncLoop::run(MakeBackend make, std::promise<base::Status> ready) {
  base::Status prepared = prepare(std::move(make));
  if (callbacks_.on_starting) callbacks_.on_starting({});
  const bool usable = prepared.ok();
  ready.set_value(std::move(prepared));
  if (usable) serve();
  {
    const std::lock_guard lock(mutex_);
    observed_ = nullptr;
  }
  backend_.reset();
  // Whoever still waits for an answer learns that none will come.
  queue_.close();
  queue_.take_all();
}

base::Status SyncLoop::prepare(MakeBackend make) {
  plugin::HostCallbacks callbacks;
  callbacks.request_resync = [this](std::string reason) { request_full(std::move(reason)); };
  callbacks.report_unhealthy = [this](std::string reason) { queue_.put(Unwell{std::move(reason)}); };
  callbacks.event = callbacks_.on_event;
  if (callbacks_.on_starting) callbacks_.on_starting("create");
  auto made = make(std::move(callbacks));
  if (!made) return made.status();
  backend_ = std::move(*made);
  if (callbacks_.on_starting) callbacks_.on_starting("probe");
  if (const auto probed = backend_->probe(); !probed.ok()) return probed.status(backend_->name(), "probe");
  delta_supported_ = backend_->plugin().has(abi::kFeatureDelta);
  inspectable_ = backend_->inspectable();
  observed_ = backend_.get();
  freshness_.begun(std::chrono::system_clock::now(), clock_.now());
  last_queued_ = std::chrono::system_clock::now();  // BEH 10.4: also when the loop begins
  return {};
}

void SyncLoop::serve() {
  while (!queue_.closed()) {
    const auto next = held_ ? base::Clock::Time::max()
                            : std::min({runner_.next_run(), next_verify_, status_.left_out.next_retry()});
    for (Message& message : queue_.take_all(questions_.empty() ? next : clock_.now())) {
      if (queue_.closed()) break;
      std::visit([this](auto& m) { handle(m); }, message);
    }
    if (queue_.closed()) break;
    // Looking first: what it finds is repaired by the run that follows.
    if (!held_ && clock_.now() >= next_verify_) verify();
    if (!held_) retry_left_out();
    // The maximum interval ends in a full transaction: the backend compares with the
    // kernel and writes what is different, which is nothing when all is well. What
    // comes of it is in the status and tried again when it is due.
    if (!held_ && runner_.due()) static_cast<void>(run_once(need_full_ || !runner_.requested() || !delta_supported_));
    // One at a time: what has become due meanwhile is not held up by the next.
    inspect_next();
  }
  questions_.clear();
}

// After a failure everything is sent again anyway.
void SyncLoop::retry_left_out() {
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.left_out.retry_due(clock_.now()) || need_full_) return;
    count = status_.left_out.reasons().size();
  }
  base::log_info("sync", backend_->name() + ": sending everything again: service ports that are left out are tried again: " +
                             std::to_string(count));
  need_full_ = true;
  runner_.request();
}

// A backend without deltas receives everything in each run: an early run would cost as much as any other.
void SyncLoop::handle(Request& message) {
  if (message.early && delta_supported_) {
    runner_.request_early();
  } else {
    runner_.request();
  }
}

void SyncLoop::handle(RequestFull& message) {
  // Is it damage, looking says so, and it counts as a repair. While held, who writes is somebody else.
  if (!held_ && !need_full_) verify();
  if (!held_ && !need_full_) base::log_info("sync", backend_->name() + ": sending everything again: " + message.reason);
  need_full_ = true;
  runner_.request();
}

void SyncLoop::handle(Unwell& message) {
  const std::lock_guard lock(mutex_);
  status_.unwell = std::move(message.reason);
}

void SyncLoop::handle(Hold& message) {
  held_ = true;
  message.held.set_value();
}

void SyncLoop::handle(Resume&) {
  if (!std::exchange(held_, false)) return;
  need_full_ = true;
  queued();
  // Others may have written meanwhile, so that no interval counts any more; the run is the first look.
  runner_.request_at_once();
  if (next_verify_ != base::Clock::Time::max()) next_verify_ = clock_.now() + verify_every_;
}

void SyncLoop::handle(ApplyFull& message) { message.done.set_value(run_once(true)); }

void SyncLoop::handle(SetIntervals& message) {
  runner_.set_intervals(message.intervals);
  recent_.set_minimum(message.intervals.min);
  const auto before = std::exchange(verify_every_, message.verify_every);
  if (next_verify_ != base::Clock::Time::max()) next_verify_ += verify_every_ - before;
}

// The question costs no more than its own call, and no sync is asked for because of it.
void SyncLoop::inspect_next() {
  if (questions_.empty()) return;
  const Inspect question = std::move(questions_.front());
  questions_.pop_front();
  if (question.wanted()) question.done(backend_->services(question.name));
}

// As long as applies fail they accumulate, and tenants write them.
void SyncLoop::note_triggers(const std::vector<std::chrono::system_clock::time_point>& times) {
  const std::size_t room = snapshot::kMostTriggerTimes - std::min(trigger_times_.size(), snapshot::kMostTriggerTimes);
  trigger_times_.insert(trigger_times_.end(), times.begin(),
                        times.begin() + static_cast<std::ptrdiff_t>(std::min(times.size(), room)));
}

base::Status SyncLoop::run_once(bool full) {
  runner_.started();
  const model::Namespaces deferred = full || !runner_.runs_early() ? model::Namespaces() : recent_.names(clock_.now());
  asked_ = asked_early_ = false;  // before the transaction is taken: what comes afterwards asks again
  const auto begin = clock_.now();
  freshness_.taken(begin);
  const auto transaction = callbacks_.take(full, deferred);
  if (!transaction) {  // stopping, or not everything is listed yet
    runner_.finished(RunOutcome::done);
    return base::unavailable("backend " + backend_->name() + ": apply: the cluster has not been listed yet");
  }
  note_triggers(transaction->trigger_times);
  recent_.note(*transaction, clock_.now());
  SyncReport report;
  report.full = transaction->full;
  report.select_seconds = seconds(clock_.now() - begin);
  RunOutcome outcome = RunOutcome::done;
  base::Status status;
  if (transaction->empty()) {
    outcome = RunOutcome::nothing;
    report.ok = true;
    report.at = std::chrono::system_clock::now();
    note_updated(*transaction, report.at);
  } else {
    status = apply(*transaction, report, outcome);
    // A delta that was not for what the backend has is none of its failures.
    if (status.ok() && need_full_) return run_once(true);
  }
  report.seconds = seconds(clock_.now() - begin);
  if (report.ok) report.trigger_times = std::exchange(trigger_times_, {});
  runner_.finished(outcome);
  if (transaction->partial) runner_.request();
  recent_.note(*transaction, clock_.now());
  if (callbacks_.on_synced) callbacks_.on_synced(report);
  // A full transaction has been compared with the kernel; a delta says nothing of the rest.
  if (transaction->full) next_verify_ = clock_.now() + verify_every_;
  return status;
}

base::Status SyncLoop::apply(const snapshot::Transaction& transaction, SyncReport& report, RunOutcome& next) {
  const auto begin = clock_.now();
  plugin::ApplyOutcome outcome;
  {
    const snapshot::FlatTransaction flat(transaction);
    outcome = backend_->apply(*flat.get());
  }
  if (!transaction.full && outcome.code == abi::Code::kNeedFull) {
    base::log_info("sync", backend_->name() + ": sending everything: " + outcome.message);
    need_full_ = true;
    return {};
  }
  const double took = seconds(clock_.now() - begin);
  const auto at = std::chrono::system_clock::now();
  report.ok = outcome.ok();
  report.at = at;
  report.apply_seconds = took;
  report.kernel_seconds = seconds(outcome.kernel_time);
  add_withheld(transaction, outcome.reports);
  report_left_out(outcome);
  // What was consumed cannot be replayed: after a failure only everything will do.
  need_full_ = !outcome.ok();

  base::Status status;
  if (!outcome.ok()) {
    status = outcome.status(backend_->name(), "apply");
    base::log(outcome.code == abi::Code::kRetry || outcome.code == abi::Code::kNeedFull ? base::LogLevel::warning
                                                                                       : base::LogLevel::error,
              "sync", status.message());
  } else if (transaction.full || base::log_enabled(base::LogLevel::debug, "sync")) {
    base::log(applied_once_ ? base::LogLevel::debug : base::LogLevel::info, "sync",
              backend_->name() + ": generation " + std::to_string(transaction.generation) + ", " +
                  (transaction.full ? "full, " : "delta, ") + std::to_string(transaction.service_ports.size()) +
                  " service ports, " + std::to_string(transaction.removed.size()) + " removed, " +
                  std::to_string(outcome.kernel_writes) + " kernel writes, " + std::to_string(took) + " s");
  }
  {
    const std::lock_guard lock(mutex_);
    ++(transaction.full ? status_.full_syncs : status_.delta_syncs);
    status_.synced = outcome.ok();
    status_.last_apply = ApplyRecord{transaction.full, took, outcome.kernel_writes, std::string(code_name(outcome.code)), at};
    status_.failed_objects += outcome.reports.failed.size();
    status_.kernel_writes += outcome.kernel_writes;
    if (outcome.ok()) {
      status_.left_out.note(transaction, outcome.reports, clock_.now());
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
    if (callbacks_.on_applied) callbacks_.on_applied(transaction);
    report_claims();
    applied_once_ = true;
    next = RunOutcome::done;
    return status;
  }
  // Whatever stood in the way of a delta, everything at once may well succeed: rules
  // somebody removed are there again, for one.
  const bool passing = outcome.code == abi::Code::kRetry || outcome.code == abi::Code::kNeedFull;
  next = passing || !transaction.full ? RunOutcome::retry_soon : RunOutcome::failed;
  return status;
}

void SyncLoop::verify() {
  next_verify_ = clock_.now() + verify_every_;
  const plugin::Outcome outcome = backend_->verify();
  if (outcome.ok()) {
    if (applied_once_) report_claims();
    return;
  }
  const std::string sentence = outcome.status(backend_->name(), "verify").message();
  if (outcome.code != abi::Code::kNeedFull) {
    base::log_warning("sync", sentence);
    return;
  }
  // Otherwise a failure has been told, and nobody has damaged anything.
  if (!need_full_) {
    base::log_warning("sync", sentence + "; repairing");
    const std::lock_guard lock(mutex_);
    ++status_.repairs;
  }
  need_full_ = true;
  queued();
  runner_.request();
}

// Once for each reason: who is left out is tried again with each full transaction. Before LeftOut takes note of them, which
// only this thread changes.
void SyncLoop::report_left_out(const plugin::ApplyOutcome& outcome) {
  const auto& known = status_.left_out.reasons();
  for (const auto& one : outcome.reports.failed) {
    const auto before = known.find(one.port);
    const bool news = before == known.end() || before->second != one.message;
    std::string sentence = backend_->name() + ": " + one.port.printed() + " left out: " + one.message;
    if (news) {
      left_out_lines_.log(base::LogLevel::error, "sync", std::move(sentence));
    } else {
      base::log_debug("sync", sentence);
    }
    if (news && outcome.ok() && callbacks_.on_left_out) callbacks_.on_left_out(one);
  }
}

// Once; where the backend cannot say it now, behind what succeeds next: the ledger and the clean-up of a start need it.
void SyncLoop::report_claims() {
  if (claims_told_) return;
  const plugin::ClaimsOutcome outcome = backend_->claims();
  claims_told_ = outcome.ok();
  if (claims_told_) {
    callbacks_.on_claims(outcome.claims);
    return;
  }
  std::string why = outcome.status(backend_->name(), "claims").message() + "; it is asked again";
  if (why != claims_trouble_) base::log_warning("sync", why);
  claims_trouble_ = std::move(why);
}

}  // namespace sluice::sync
