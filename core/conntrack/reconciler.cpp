// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/reconciler.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/log.hpp"

namespace sluice::conntrack {
namespace {

// A big table takes a while to walk: not more than a third of one processor goes there.
constexpr int kRestFactor = 2;
// Of looks that are repeated for as long as a predecessor drains: a tenth.
constexpr int kRestFactorOfLooks = 9;
// Added to the priority of the process: behind the threads that write rules. Not more, since the end of a swap waits for
// the scan, and a busy node gives little time to a thread of nice 10.
constexpr int kNice = 5;

using Time = base::Clock::Time;

}  // namespace

void ConntrackReconciler::start() {
  thread_ = std::thread([this] { run(); });
}

void ConntrackReconciler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  filled_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ConntrackReconciler::put(UdpChange change) {
  if (change.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    mailbox_.put(std::move(change));
  }
  filled_.notify_one();
}

void ConntrackReconciler::set_predecessor(Predecessor predecessor) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stated_serves_, predecessor.serves) && !predecessor.serves) ++last_end_;
    new_predecessor_ = std::move(predecessor);
  }
  filled_.notify_one();
}

bool ConntrackReconciler::settled() const {
  const std::lock_guard lock(mutex_);
  return settled_end_ == last_end_;
}

void ConntrackReconciler::settle() {
  const std::lock_guard lock(mutex_);
  settled_end_ = end_;
}

void ConntrackReconciler::run() {
  const auto thread = static_cast<id_t>(::gettid());
  // A lower priority needs no privilege; nothing depends on it.
  ::setpriority(PRIO_PROCESS, thread, ::getpriority(PRIO_PROCESS, thread) + kNice);
  recall();
  while (!stopping_) {
    take_over(wait());
    const Time now = clock_.now();
    if (everything_at_ && now >= *everything_at_) {
      everything_at_.reset();
      work_.note_everything();
    }
    if ((former_.remains() && now >= next_look_) || now >= late_replies_.next_scan().value_or(Time::max())) {
      work_.note_everything();
    }
    if (!stopping_ && state_known_ && !work_.empty() && now >= not_before_) pass();
  }
}

// Until there is something new, or something to do.
ConntrackReconciler::News ConntrackReconciler::wait() {
  Time due = everything_at_.value_or(Time::max());
  if (state_known_ && former_.remains()) due = std::min(due, std::max(next_look_, not_before_));
  if (state_known_ && late_replies_.next_scan()) due = std::min(due, std::max(*late_replies_.next_scan(), not_before_));
  if (state_known_ && !work_.empty()) due = std::min(due, not_before_);
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return stopping_ || !mailbox_.empty() || new_predecessor_; };
  if (due == Time::max()) {
    filled_.wait(lock, ready);
  } else {
    filled_.wait_until(lock, due, ready);
  }
  return {mailbox_.take(), std::exchange(new_predecessor_, std::nullopt), last_end_};
}

void ConntrackReconciler::take_over(News arrived) {
  if (arrived.predecessor) {
    former_.set(arrived.predecessor->serves, std::move(arrived.predecessor->relays), arrived.predecessor->kernel);
    next_look_ = clock_.now();
  }
  if (arrived.end != end_) {
    end_ = arrived.end;
    // The old backend waits for this scan before it closes its sockets.
    work_.note_everything();
    not_before_ = clock_.now();
  }
  ConntrackMailbox::Contents& news = arrived.contents;
  if (!news.change.empty()) state_.apply(news.change, work_);
  work_.merge(news.work);
  if (!news.change.full) return;
  // Everything was sent because it is the first time, or because somebody had removed
  // rules: flows that began meanwhile are wherever they are.
  state_known_ = true;
  const Time now = clock_.now();
  if (!last_everything_ || now - *last_everything_ >= options_.between_full) {
    work_.note_everything();
  } else {
    everything_at_ = *last_everything_ + options_.between_full;
  }
}

void ConntrackReconciler::pass() {
  const bool everything = work_.everything();
  next_look_ = clock_.now() + options_.between_looks;
  if (!state_.empty() || work_.has_retired()) {
    const Time begin = clock_.now();
    former_.begin(begin, everything);
    const auto result =
        reconcile_conntrack(options_.family, state_, work_, *table_, stopping_, &former_, &late_replies_, begin);
    const auto took = clock_.now() - begin;
    not_before_ = begin + took * (1 + kRestFactor);
    next_look_ = begin + std::clamp(took * (1 + kRestFactorOfLooks), options_.between_looks,
                                    std::max(options_.between_looks, options_.longest_between_looks));
    const bool complete = result && !result->partial && !stopping_;
    former_.end(complete);
    if (complete && everything) {
      late_replies_.scanned(begin);
      settle();
    }
    if (!result) return failed(result.status());
    if (stopping_) return;
    const double seconds = std::chrono::duration<double>(took).count();
    if (options_.reconciled) options_.reconciled(seconds, result->deleted);
    if (failing_) base::log_info("conntrack", name() + ": works again");
    failing_ = false;
    if (base::log_enabled(base::LogLevel::debug, "conntrack")) {
      base::log_debug("conntrack",
                      name() + ": " + std::to_string(result->deleted) + " of " + std::to_string(result->seen) +
                          " flows removed" + (everything ? ", everything looked at" : "") +
                          (result->partial ? ", table changed meanwhile" : "") + ", " + std::to_string(seconds) + " s");
    }
  } else {
    former_.begin(clock_.now(), everything);
    former_.end(true);  // there are no flows
    if (everything) {
      late_replies_.scanned(clock_.now());
      settle();
    }
  }
  if (everything) {
    last_everything_ = clock_.now();
    everything_at_.reset();
  }
  work_ = {};
  if (!settled()) work_.note_everything();
  remember();
}

void ConntrackReconciler::failed(const base::Status& status) {
  const bool hopeless = status.code() == base::StatusCode::denied || status.code() == base::StatusCode::unsupported;
  not_before_ = clock_.now() + (hopeless ? options_.retry_unsupported : options_.retry);
  if (hopeless) {
    // May last for ever; what is noted meanwhile must not grow.
    work_ = {};
    work_.note_everything();
    settle();
  }
  if (!failing_) {
    base::log_warning("conntrack",
                      status.message() + "; stale UDP flows stay until they time out, or until it works again");
  }
  failing_ = true;
}

void ConntrackReconciler::recall() {
  if (options_.memory_file.empty()) return;
  const auto text = base::read_file(options_.memory_file);
  if (text.status().code() == base::StatusCode::not_found) return;
  const auto read = text ? ConntrackState::recall(*text, work_) : base::Result<std::size_t>(text.status());
  if (read) {
    remembered_ = std::hash<std::string>()(*text);
    return;
  }
  work_ = {};
  base::log_warning("conntrack", options_.memory_file + ": " + read.status().message() +
                                     "; UDP flows to Services deleted while no daemon ran are left alone");
}

void ConntrackReconciler::remember() {
  if (options_.memory_file.empty() || !state_.take_frontends_changed()) return;
  const std::string text = state_.remember();
  const std::size_t hash = std::hash<std::string>()(text);
  if (remembered_ == hash) return;
  const auto status = base::write_file_atomically(options_.memory_file, text);
  remembered_ = hash;
  if (!status.ok()) {
    base::log_warning("conntrack",
                      status.message() + "; UDP flows to Services deleted while no daemon runs will be left alone");
  }
}

std::string ConntrackReconciler::name() const { return std::string(base::family_name(options_.family)); }

}  // namespace sluice::conntrack
