// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/sync_loop.hpp"

#include <algorithm>

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
    : options_(options), clock_(clock), callbacks_(std::move(callbacks)), runner_(options.intervals, clock) {}

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

void SyncLoop::request() { queue_.put(Request{}); }

void SyncLoop::request_full(std::string reason) { queue_.put(RequestFull{std::move(reason)}); }

LoopStatus SyncLoop::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::string_view SyncLoop::overdue() const {
  const plugin::BackendHandle* backend = observed_.load();
  return backend == nullptr ? std::string_view() : backend->overdue();
}

void SyncLoop::run(MakeBackend make, std::promise<base::Status> ready) {
  plugin::HostCallbacks callbacks;
  callbacks.request_resync = [this](std::string reason) { request_full(std::move(reason)); };
  callbacks.report_unwell = [this](std::string reason) { queue_.put(Unwell{std::move(reason)}); };
  auto made = make(std::move(callbacks));
  if (!made) {
    ready.set_value(made.status());
    return;
  }
  backend_ = std::move(*made);
  const plugin::Outcome probed = backend_->probe();
  if (!probed.ok()) {
    ready.set_value(probed.status(backend_->name(), "probe"));
    backend_.reset();
    return;
  }
  delta_supported_ = backend_->plugin().has(abi::kFeatureDelta);
  observed_ = backend_.get();
  ready.set_value({});

  while (!queue_.closed()) {
    for (Message& message : queue_.take_all(std::min(runner_.next_run(), next_verify_))) handle(message);
    if (queue_.closed()) break;
    // Looking first: what it finds is repaired by the run that follows.
    if (clock_.now() >= next_verify_) verify();
    if (runner_.due()) run_once();
  }
  observed_ = nullptr;
  backend_.reset();
}

void SyncLoop::handle(Message& message) {
  if (auto* full = std::get_if<RequestFull>(&message)) {
    base::log_info("sync", backend_->name() + ": sending everything again: " + full->reason);
    need_full_ = true;
  } else if (auto* unwell = std::get_if<Unwell>(&message)) {
    const std::lock_guard lock(mutex_);
    status_.unwell = std::move(unwell->reason);
    return;
  }
  runner_.request();
}

void SyncLoop::run_once() {
  // The maximum interval ends in a full transaction: the backend compares with the
  // kernel and writes what is different, which is nothing when all is well.
  const bool full = need_full_ || !runner_.requested() || !delta_supported_;
  runner_.started();
  const auto transaction = callbacks_.take(full);
  if (!transaction) {  // stopping, or not everything is listed yet
    runner_.finished(RunOutcome::done);
    return;
  }
  trigger_times_.insert(trigger_times_.end(), transaction->trigger_times.begin(), transaction->trigger_times.end());
  if (transaction->empty()) {
    trigger_times_.clear();
    runner_.finished(RunOutcome::done);
    return;
  }
  runner_.finished(apply(*transaction));
  // A full transaction has been compared with the kernel; a delta says nothing of the rest.
  if (transaction->full) next_verify_ = clock_.now() + options_.verify_every;
}

RunOutcome SyncLoop::apply(const snapshot::Transaction& transaction) {
  const auto begin = clock_.now();
  {
    const std::lock_guard lock(mutex_);
    if (!status_.behind_since) status_.behind_since = begin;
  }
  plugin::ApplyOutcome outcome;
  {
    const snapshot::FlatTransaction flat(transaction);
    outcome = backend_->apply(*flat.get());
  }
  const double took = seconds(clock_.now() - begin);
  const auto at = std::chrono::system_clock::now();
  for (const auto& failed : outcome.failed) {
    base::log_error("sync", backend_->name() + ": " + failed.object + " left out: " + failed.message);
  }
  // What was consumed cannot be replayed: after a failure only everything will do.
  need_full_ = !outcome.ok();

  std::string error;
  if (!outcome.ok()) {
    error = outcome.status(backend_->name(), "apply").message();
    base::log(outcome.code == abi::Code::kRetry || outcome.code == abi::Code::kNeedFull ? base::LogLevel::warning
                                                                                       : base::LogLevel::error,
              "sync", error);
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
    status_.failed_objects += outcome.failed.size();
    if (outcome.ok()) {
      status_.left_out.note(transaction, outcome.failed);
      status_.behind_since.reset();
      status_.generation = transaction.generation;
      status_.objects_owned = outcome.objects_owned;
      if (!trigger_times_.empty()) {
        status_.last_programming_seconds =
            std::chrono::duration<double>(at - *std::max_element(trigger_times_.begin(), trigger_times_.end())).count();
      }
    } else {
      ++status_.failures;
      status_.last_error = error;
    }
  }
  if (outcome.ok()) {
    trigger_times_.clear();
    if (callbacks_.on_applied) callbacks_.on_applied(transaction);
    if (!applied_once_) report_claims();
    applied_once_ = true;
    return RunOutcome::done;
  }
  // Whatever stood in the way of a delta, everything at once may well succeed: rules
  // somebody removed are there again, for one.
  const bool passing = outcome.code == abi::Code::kRetry || outcome.code == abi::Code::kNeedFull;
  return passing || !transaction.full ? RunOutcome::retry_soon : RunOutcome::failed;
}

void SyncLoop::verify() {
  next_verify_ = clock_.now() + options_.verify_every;
  const plugin::Outcome outcome = backend_->verify();
  if (outcome.ok()) return;
  const std::string sentence = outcome.status(backend_->name(), "verify").message();
  if (outcome.code != abi::Code::kNeedFull) {
    base::log_warning("sync", sentence);
    return;
  }
  base::log_warning("sync", sentence + "; repairing");
  {
    const std::lock_guard lock(mutex_);
    ++status_.repairs;
  }
  need_full_ = true;
  runner_.request();
}

void SyncLoop::report_claims() {
  const plugin::ClaimsOutcome outcome = backend_->claims();
  if (outcome.ok()) {
    callbacks_.on_claims(outcome.claims);
  } else {
    base::log_warning("sync", outcome.status(backend_->name(), "claims").message());
  }
}

}  // namespace sluice::sync
