// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/retirement.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/lifecycle/fault_point.hpp"

namespace sluice::lifecycle {

Retirement::Retirement(Options options, Observer& observer, const lib::Clock& clock)
    : options_(options), observer_(observer), clock_(clock) {}

Retirement::~Retirement() { stop(); }

void Retirement::start() {
  thread_ = std::thread([this] { run(); });
}

void Retirement::stop() {
  {
    const lib::Lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  std::vector<Entry> entries;
  {
    const lib::Lock lock(mutex_);
    entries.swap(entries_);
  }
  for (const Entry& entry : entries) entry.run->stop();
}

void Retirement::set_successor(Claims claims) {
  const lib::Lock lock(mutex_);
  successor_ = std::move(claims);
}

Claims Retirement::successor() const {
  const lib::Lock lock(mutex_);
  return successor_;
}

void Retirement::add(Entry entry) {
  {
    const lib::Lock lock(mutex_);
    entries_.push_back(std::move(entry));
    added_ = true;
  }
  wake_.notify_all();
}

std::vector<Retirement::Entry> Retirement::list() const {
  const lib::Lock lock(mutex_);
  return entries_;
}

void Retirement::run() {
  for (;;) {
    {
      const auto until = std::chrono::steady_clock::now() + options_.interval;
      const lib::Lock lock(mutex_);
      while (!stopping_ && !added_) {
        if (entries_.empty()) {
          wake_.wait(mutex_);
        } else if (!wake_.wait_until(mutex_, until)) {
          break;
        }
      }
      added_ = false;
      if (stopping_) return;
    }
    auto gone = retire_all();
    if (!gone) return;
    // Not under retire_mutex_: a swap may begin during the wait.
    for (auto& run : *gone) unload(std::move(run));
  }
}

std::optional<std::vector<std::shared_ptr<BackendRun>>> Retirement::retire_all() {
  const lib::Lock asking(retire_mutex_);
  std::vector<std::shared_ptr<BackendRun>> gone;
  for (Entry& entry : list()) {
    const bool done = retire_entry(entry);
    const lib::Lock lock(mutex_);
    if (done) {
      gone.push_back(std::move(entry.run));
    } else {
      const auto same =
          std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.run == entry.run; });
      same->error = entry.error;
      same->ending = entry.ending;
    }
    if (stopping_) return std::nullopt;
  }
  return gone;
}

// A swap or a status request may hold the run for some milliseconds. Its last user destroys the run, and with it the
// last reference to the plugin, for which this thread waits.
void Retirement::unload(std::shared_ptr<BackendRun> run) {
  auto plugin = run->shared_plugin();
  const std::string file = plugin->file().string();
  const std::string name = "plugin " + file + " (" + plugin->version() + ")";
  run.reset();
  const lib::Status status = plugin::unload_plugin(std::move(plugin), options_.unload_timeout);
  if (status.ok()) {
    base::log(base::message::kPluginUnloaded, name + " is unloaded", {{"file", file}});
  } else {
    base::log(base::message::kPluginNotUnloaded, status.message(), {{"file", file}, {"error", status.message()}});
  }
}

// Whether the backend is gone.
bool Retirement::retire_entry(Entry& entry) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(entry.until - clock_.now());
  const auto drain = std::max(left, std::chrono::seconds(0));
  if (!entry.ending && !entry.undo && entry.until - clock_.now() <= options_.ending_notice) {
    entry.ending = true;
    observer_.ending(entry);
  }
  // A backend that hangs gets no further call before it returns from the last.
  if (entry.run->busy()) return false;
  if (entry.after_sync_of != nullptr && !entry.after_sync_of->synced()) return false;
  const bool may_delay = !entry.undo && clock_.now() < entry.until + options_.settle_timeout;
  if (may_delay && !observer_.settled(entry)) return false;
  const Claims successor = this->successor();
  plugin::Outcome outcome;
  if (const auto fault = fault_point(Step::drain); fault.ok()) {
    outcome = entry.run->retire(successor, drain, options_.call_timeout);
  } else {
    outcome.code = abi::Code::kKernel;
    outcome.message = fault.message();
  }
  if (outcome.ok()) {
    release(entry, true);
    return true;
  }
  if (outcome.code == abi::Code::kRetry && drain.count() > 0) {
    entry.error.clear();
    return false;
  }
  const std::string error = outcome.status(entry.run->plugin().id(), "retire").message();
  if (entry.error != error)
    base::log(base::message::kRetireFailed, error + "; retrying",
              {{"backend", entry.run->plugin().id()}, {"error", error}});
  entry.error = error;
  if (clock_.now() < entry.until + options_.give_up_after) return false;
  base::log(base::message::kRetireGivenUp,
            "backend " + entry.run->plugin().id() +
                ": cannot remove its kernel state, giving up; see the errors above; retry at the next "
                "start, or stop the daemon and run sluiced --cleanup",
            {{"backend", entry.run->plugin().id()}});
  release(entry, false);
  return true;
}

void Retirement::release(const Entry& entry, bool clean) {
  if (const auto fault = fault_point(Step::release); !fault.ok())
    base::log(base::message::kFaultInjected, fault.message(), {{"error", fault.message()}});
  entry.run->stop();
  {
    // Before the event, whose handler must not find it in list().
    const lib::Lock lock(mutex_);
    std::erase_if(entries_, [&](const Entry& e) { return e.run == entry.run; });
  }
  observer_.gone(entry, clean);
}

}  // namespace sluice::lifecycle
