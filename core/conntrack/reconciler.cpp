// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/reconciler.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/log_messages.hpp"
#include "lib/files.hpp"

namespace sluice::conntrack {
namespace {

// Limits scans to a third of one processor, and to a tenth while that delays the next scan by at most kShortRest.
constexpr int kRestFactor = 2;
constexpr int kShortRestFactor = 9;
constexpr std::chrono::milliseconds kShortRest{100};
// Limits the repeated scans while an old backend drains to a tenth.
constexpr int kRestFactorOfDrainScans = 9;
// Added to the priority of the process: behind the threads that write rules. Not more, since the end of a swap waits for
// the scan, and a busy node gives little time to a thread of nice 10.
constexpr int kNice = 5;

using Time = lib::Clock::Time;

Time::duration rest_after(Time::duration scan) {
  return std::max<Time::duration>(scan * kRestFactor, std::min<Time::duration>(scan * kShortRestFactor, kShortRest));
}

}  // namespace

void ConntrackReconciler::start() {
  thread_ = std::thread([this] { run(); });
}

void ConntrackReconciler::stop() {
  {
    const lib::Lock lock(mutex_);
    stopping_ = true;
  }
  filled_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ConntrackReconciler::put(UdpChange change) {
  if (change.empty()) return;
  {
    const lib::Lock lock(mutex_);
    mailbox_.put(std::move(change));
  }
  filled_.notify_one();
}

void ConntrackReconciler::set_writing(bool writing) {
  {
    const lib::Lock lock(mutex_);
    if (writing) {
      ++writes_begun_;
    } else {
      writes_ended_ = writes_begun_;
    }
    // Each write would wake the thread twice otherwise.
    if (writing || !awaits_write_) return;
  }
  filled_.notify_one();
}

void ConntrackReconciler::set_old_backends(OldBackends old_backends) {
  {
    const lib::Lock lock(mutex_);
    if (std::exchange(stated_serve_, old_backends.serve) && !old_backends.serve) ++last_end_;
    pending_old_backends_ = std::move(old_backends);
  }
  filled_.notify_one();
}

bool ConntrackReconciler::settled() const {
  const lib::Lock lock(mutex_);
  return settled_end_ == last_end_;
}

void ConntrackReconciler::settle() {
  const lib::Lock lock(mutex_);
  settled_end_ = end_;
}

void ConntrackReconciler::run() {
  const auto thread = static_cast<id_t>(::gettid());
  // A lower priority needs no privilege; nothing depends on it.
  ::setpriority(PRIO_PROCESS, thread, ::getpriority(PRIO_PROCESS, thread) + kNice);
  load_frontends();
  while (!stopping_) {
    accept(wait());
    const Time now = clock_.now();
    if (full_scan_at_ && now >= *full_scan_at_) {
      full_scan_at_.reset();
      work_.note_full_scan();
    }
    if ((old_backend_flows_.needs_scans() && now >= next_scan_) ||
        now >= late_replies_.next_scan().value_or(Time::max())) {
      work_.note_full_scan();
    }
    if (!stopping_ && state_known_ && !work_.empty() && now >= not_before_) scan();
  }
}

// Blocks until there are updates or a scan is due.
ConntrackReconciler::Updates ConntrackReconciler::wait() {
  Time due = full_scan_at_.value_or(Time::max());
  if (state_known_ && old_backend_flows_.needs_scans()) due = std::min(due, std::max(next_scan_, not_before_));
  if (state_known_ && late_replies_.next_scan()) due = std::min(due, std::max(*late_replies_.next_scan(), not_before_));
  if (state_known_ && !work_.empty()) due = std::min(due, not_before_);
  const lib::Lock lock(mutex_);
  while (!stopping_ && mailbox_.empty() && !pending_old_backends_) {
    if (due == Time::max()) {
      filled_.wait(mutex_);
    } else if (!filled_.wait_until(mutex_, due)) {
      break;
    }
  }
  return {mailbox_.take(), std::exchange(pending_old_backends_, std::nullopt), last_end_};
}

void ConntrackReconciler::accept(Updates updates) {
  if (updates.old_backends) {
    old_backend_flows_.set_old_backends(std::move(*updates.old_backends));
    next_scan_ = clock_.now();
  }
  if (updates.end != end_) {
    end_ = updates.end;
    // The old backend waits for this scan before it closes its sockets.
    work_.note_full_scan();
    not_before_ = clock_.now();
  }
  accept(std::move(updates.contents), work_);
}

void ConntrackReconciler::accept(ConntrackMailbox::Contents contents, ConntrackWork& work) {
  if (!contents.change.empty()) state_.apply(contents.change, work);
  work.merge(contents.work);
  if (!contents.change.full) return;
  // Full updates follow a start or a repair of rules. Flows that began before may go to any address.
  state_known_ = true;
  const Time now = clock_.now();
  if (!last_full_scan_ || now - *last_full_scan_ >= options_.full_scan_interval) {
    work.note_full_scan();
  } else {
    full_scan_at_ = *last_full_scan_ + options_.full_scan_interval;
  }
}

// Waits for the end of a write in progress and applies all changes since the begin of the scan. False if the scan must
// start again: a statement about old backends precedes the changes that follow it.
bool ConntrackReconciler::update_state() {
  ConntrackMailbox::Contents contents;
  {
    const lib::Lock lock(mutex_);
    const std::uint64_t write = writes_begun_;
    awaits_write_ = true;
    while (!stopping_ && !pending_old_backends_ && writes_ended_ < write) filled_.wait(mutex_);
    awaits_write_ = false;
    if (stopping_ || pending_old_backends_) return false;
    contents = mailbox_.take();
  }
  accept(std::move(contents), later_work_);
  return true;
}

void ConntrackReconciler::scan() {
  const bool full = work_.full_scan();
  if (full) full_scan_at_.reset();
  next_scan_ = clock_.now() + options_.scan_interval;
  ConntrackWork work_of_changes;
  if (!state_.empty() || work_.has_retired()) {
    const Time begin = clock_.now();
    old_backend_flows_.begin(begin, full);
    const auto result = reconcile_conntrack(options_.family, state_, work_, *table_, stopping_, &old_backend_flows_,
                                            &late_replies_, begin, [this] { return update_state(); });
    const auto took = clock_.now() - begin;
    not_before_ = begin + took + rest_after(took);
    next_scan_ = begin + std::clamp(took * (1 + kRestFactorOfDrainScans), options_.scan_interval,
                                    std::max(options_.scan_interval, options_.max_scan_interval));
    const bool complete = result && !result->partial && !result->aborted && !stopping_;
    old_backend_flows_.end(complete);
    if (complete && full) {
      late_replies_.scanned(begin);
      settle();
    }
    work_of_changes = std::exchange(later_work_, {});
    if (!result || result->aborted) work_.merge(work_of_changes);
    if (!result) return failed(result.status());
    if (stopping_) return;
    const double seconds = std::chrono::duration<double>(took).count();
    if (options_.reconciled) options_.reconciled(seconds, result->deleted);
    if (result->aborted) return;
    if (failing_) base::log(base::message::kConntrackRecovered, name() + ": works again", {{"family", name()}});
    failing_ = false;
    if (base::log_enabled(base::message::kConntrackScanned)) {
      base::log(base::message::kConntrackScanned,
                name() + ": " + std::to_string(result->deleted) + " of " + std::to_string(result->scanned) +
                    " flows removed" + (full ? ", full scan" : "") +
                    (result->partial ? ", table changed meanwhile" : "") + ", " + std::to_string(seconds) + " s",
                {{"family", name()}, {"count", result->deleted}, {"seconds", seconds}});
    }
  } else {
    old_backend_flows_.begin(clock_.now(), full);
    old_backend_flows_.end(true);  // there are no flows
    if (full) {
      late_replies_.scanned(clock_.now());
      settle();
    }
  }
  if (full) {
    last_full_scan_ = clock_.now();
  }
  work_ = std::move(work_of_changes);
  // The next process must find the frontends whose flows the next scan removes.
  if (!work_.has_retired()) save_frontends();
  if (!settled()) work_.note_full_scan();
}

void ConntrackReconciler::failed(const lib::Status& status) {
  const bool hopeless = status.code() == lib::StatusCode::denied || status.code() == lib::StatusCode::unsupported;
  not_before_ = clock_.now() + (hopeless ? options_.retry_unsupported : options_.retry);
  if (hopeless) {
    // This may last forever, so the recorded work must not grow.
    work_ = {};
    work_.note_full_scan();
    settle();
  }
  if (!failing_) {
    base::log(base::message::kConntrackFailed,
              status.message() + "; stale UDP flows stay until they time out or a retry succeeds",
              {{"family", name()}, {"error", status.message()}});
  }
  failing_ = true;
}

void ConntrackReconciler::load_frontends() {
  if (options_.memory_file.empty()) return;
  const auto text = lib::read_file(options_.memory_file);
  if (text.status().code() == lib::StatusCode::not_found) return;
  const auto read = text ? ConntrackState::parse_frontends(*text, work_) : lib::Result<std::size_t>(text.status());
  if (read) {
    saved_hash_ = std::hash<std::string>()(*text);
    return;
  }
  work_ = {};
  base::log(base::message::kConntrackStateUnreadable,
            options_.memory_file + ": " + read.status().message() +
                "; UDP flows to Services that were deleted while no daemon ran stay until they time out",
            {{"family", name()}, {"file", options_.memory_file}, {"error", read.status().message()}});
}

void ConntrackReconciler::save_frontends() {
  if (options_.memory_file.empty() || !state_.take_frontends_changed()) return;
  const std::string text = state_.serialize_frontends();
  const std::size_t hash = std::hash<std::string>()(text);
  if (saved_hash_ == hash) return;
  const auto status = lib::write_file_atomically(options_.memory_file, text);
  saved_hash_ = hash;
  if (!status.ok()) {
    base::log(base::message::kConntrackStateUnwritable,
              status.message() +
                  "; UDP flows to Services that are deleted while no daemon runs will stay until they time out",
              {{"family", name()}, {"file", options_.memory_file}, {"error", status.message()}});
  }
}

std::string ConntrackReconciler::name() const { return std::string(lib::family_name(options_.family)); }

}  // namespace sluice::conntrack
